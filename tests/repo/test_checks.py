"""Every check is in the battery and says in its docstring what it catches and what it cannot see."""

from __future__ import annotations

import importlib
import pkgutil
import re

import pytest

import grader.contract
import grader.exercises
from grader.contract import CHECKS
from grader.contract.check import Check

OWN = [check for exercise in grader.exercises.catalogue().values() for check in exercise.checks]
ALL = {check.id: check for check in (*CHECKS, *OWN)}


def test_every_check_of_the_family_modules_is_in_the_battery() -> None:
    """A check that was written and not listed would never run."""
    used = {id(check) for check in (*CHECKS, *OWN)}
    for info in pkgutil.iter_modules(grader.contract.__path__, "grader.contract."):
        module = importlib.import_module(info.name)
        checks = {name: value for name, value in vars(module).items() if isinstance(value, Check)}
        assert [name for name, value in checks.items() if id(value) not in used] == [], info.name


def test_ids_are_unique() -> None:
    assert len({check.id for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", ALL.values(), ids=ALL)
def test_it_says_what_it_catches_and_what_it_cannot(check: Check) -> None:
    assert check.doc.startswith("Catches")
    assert re.search(r"\.\s+[A-Z]", check.doc), "a second sentence says what it cannot see"
