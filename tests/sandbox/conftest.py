"""The fixtures of the sandbox tests: every level as every kind of user."""

from __future__ import annotations

import os

import pytest

from grader.grading.level import Level
from tests.sandbox.levels import BOTH, Run, attempt, level_for


@pytest.fixture(params=BOTH, ids=lambda both: f"{both[0]}-{both[1]}")
def where(request: pytest.FixtureRequest) -> tuple[Level, str]:
    """A level and a user, all combinations that are different."""
    name, user = request.param
    if name == "bubblewrap-mapped-root" and os.geteuid() != 0:
        pytest.skip("only root can be mapped root")
    return level_for(name, user), user


@pytest.fixture
def run(where: tuple[Level, str]) -> Run:
    """Run pieces of student code at the level and as the user of `where`."""
    return lambda codes, **limits: attempt(*where, codes, **limits)
