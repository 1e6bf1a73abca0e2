"""One submission as it travels to whoever grades it, and what comes back: plain data, whichever machine does it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.grading.outputs import of_cell, of_test
from grader.grading.session import Process, Submission

__all__ = ["CodeCell", "Graded", "Work", "grade"]


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a notebook. `points` is the most that a test cell can give; None: a cell of the submission."""

    name: str
    source: str
    points: float | None = None


@dataclass(frozen=True)
class Work:
    """A submission to grade.

    key            stands for all that its verdict depends on
    cells          its code cells in order, the instructor's test cells among them
    files          files of its working folder, by relative path
    secret         the class's, for the seeds of the hidden tests
    cell_seconds, seconds, restarts   as in `Submission`
    output         characters that a cell may show
    """

    key: str
    cells: tuple[CodeCell, ...]
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    secret: str = field(default="public", repr=False)
    cell_seconds: float = 30.0
    seconds: float = 300.0
    restarts: int = 8
    output: int = 100_000


@dataclass(frozen=True)
class Graded:
    """What came of it: for each of the work's cells its outputs, as Jupyter stores them, and the seconds it took."""

    key: str
    outputs: list[list[dict[str, Any]]]
    seconds: float


def grade(work: Work, start: Callable[[], Process]) -> Graded:
    """Grade a submission in the processes that `start` makes. GraderError where none can be made."""
    began = time.monotonic()
    options = {"cell_seconds": work.cell_seconds, "seconds": work.seconds, "restarts": work.restarts}
    with Submission(start, files=work.files, secret=work.secret, **options) as submission:  # type: ignore[arg-type]
        found = [_outputs(submission, cell, work.output) for cell in work.cells]
    return Graded(work.key, found, round(time.monotonic() - began, 3))


def _outputs(submission: Submission, cell: CodeCell, most: int) -> list[dict[str, Any]]:
    if cell.points is not None:
        return of_test(submission.test(cell.source), cell.points, most)
    return of_cell(submission.run(cell.source, cell.name), most) if cell.source.strip() else []
