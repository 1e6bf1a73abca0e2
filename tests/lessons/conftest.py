"""The miniature course, as it is committed and as a copy to break, and its exercises."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.lessons import Folders

MINI_COURSE = Path(__file__).parents[1] / "data" / "mini_course"


@dataclass(frozen=True)
class MiniExercise:
    id: str
    lesson: str
    symbol: str
    points: float


@pytest.fixture
def mini() -> Folders:
    """The committed miniature course: read only."""
    return Folders.of(solutions=MINI_COURSE / "solutions")


@pytest.fixture
def copied(tmp_path: Path) -> Folders:
    """A copy of the miniature course that a test may break."""
    shutil.copytree(MINI_COURSE, tmp_path / "course")
    return Folders.of(solutions=tmp_path / "course" / "solutions")


@pytest.fixture
def mini_exercises() -> dict[str, MiniExercise]:
    """What the package would declare for the miniature course."""
    exercises = (
        MiniExercise("triple", "00_warm_up", "triple", 1),
        MiniExercise("square", "01_squares", "Square", 3),
        MiniExercise("who_squares", "01_squares", "who_squares", 1),
    )
    return {exercise.id: exercise for exercise in exercises}
