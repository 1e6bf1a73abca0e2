"""Scores that a regrade would change: found before they are written, so that a person can look at them first."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from grader.classroom.outcome import Outcome

__all__ = ["ScoreChange", "change"]


@dataclass(frozen=True)
class ScoreChange:
    """A submission whose points would change. `before` is None for one that was never graded.

    exercises: points before and after, of the exercises where they differ
    """

    student: str
    lesson: str
    before: float | None
    after: float
    exercises: dict[str, tuple[float | None, float]]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def change(kept: Outcome | None, new: Outcome) -> ScoreChange | None:
    """How a new outcome differs from the kept one in points; None where it does not."""
    before = {r.exercise: r.points for r in kept.exercises} if kept is not None else {}
    after = {r.exercise: r.points for r in new.exercises}
    if before == after:
        return None
    differ = {name: (before.get(name), points) for name, points in after.items() if before.get(name) != points}
    return ScoreChange(new.student, new.lesson, sum(before.values()) if before else None, new.points, differ)
