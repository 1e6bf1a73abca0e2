"""A module that says what it exports says all of it, and nothing that is not there. (ruff sorts the lists: RUF022.)

The package itself, the learner's API, must say so.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import grader

MODULES = ["grader"] + sorted(
    info.name
    for info in pkgutil.walk_packages(grader.__path__, "grader.")
    if not info.name.rpartition(".")[2].startswith("_")
)


@pytest.mark.parametrize("name", MODULES)
def test_all_is_complete(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == name
    }
    if exported is not None and name != "grader.cli":  # its commands are reached through `main`
        assert public <= set(exported), f"missing in {name}.__all__: {sorted(public - set(exported))}"


@pytest.mark.parametrize("name", MODULES)
def test_all_names_only_what_exists(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", [])
    assert len(set(exported)) == len(exported)
    assert [key for key in exported if not hasattr(module, key)] == []


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_belongs_there(name: str) -> None:
    assert importlib.import_module(name).__doc__, f"{name} has no docstring"


def test_the_learners_api_is_exported_and_sorted() -> None:
    assert {"check", "explain", "hint", "progress"} <= set(grader.__all__)
    assert grader.__all__ == sorted(grader.__all__)
