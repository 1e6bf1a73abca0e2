"""The course's own right and wrong answers, as cells of a submission."""

from __future__ import annotations

import linecache
from typing import Any

from grader.exercise import Exercise, Implementation
from grader.exercises import catalogue

__all__ = ["EVERY", "as_cell", "defined_here", "test_cell"]

EVERY: list[tuple[Exercise, Implementation]] = [
    (exercise, known)
    for exercise in catalogue().values()
    for known in (*exercise.written_misconceptions, *exercise.variants)
    if known.source is not None
]
"""Each written misconception and variant with its exercise."""


def as_cell(known: Implementation) -> str:
    """The name of the cell that holds it, the same in both processes, as messages name lines of it."""
    return f"cell {known.id}"


def defined_here(known: Implementation, symbol: str, imports: str) -> Any:
    """The class or function that its source defines, in this process."""
    file, source = f"<{as_cell(known)}>", known.source or ""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(imports, names)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names[symbol]


def test_cell(exercise: Exercise) -> str:
    """The exercise's test cell, as the lessons have it."""
    return (
        f"check({exercise.id!r}, {exercise.symbol})\n"
        "from grader.hidden import grade\n"
        f"grade({exercise.id!r}, {exercise.symbol})\n"
    )


test_cell.__test__ = False  # type: ignore[attr-defined]
