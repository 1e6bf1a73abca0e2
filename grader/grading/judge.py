"""Grades one submission: its cells in a process of its own, the test cells here, and what both showed as outputs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from grader.grading.session import Process, Submission
from grader.grading.shown import of_cell, of_test
from grader.grading.work import CodeCell, Graded, Work

__all__ = ["grade"]


def grade(work: Work, start: Callable[[], Process]) -> Graded:
    """Grade a submission in the processes that `start` makes. GraderError where none can be made."""
    began = time.monotonic()
    found, killed = _outputs_of(work, start)
    if killed:  # by somebody else, which is not its fault, or for want of memory, which will happen again
        found, _ = _outputs_of(work, start)
    return Graded(work.key, found, round(time.monotonic() - began, 3))


def _outputs_of(work: Work, start: Callable[[], Process]) -> tuple[list[list[dict[str, Any]]], bool]:
    """What each cell showed, and whether a process of the submission was killed from outside."""
    options = {"cell_seconds": work.cell_seconds, "seconds": work.seconds, "restarts": work.restarts}
    with Submission(start, files=work.files, secret=work.secret, **options) as submission:  # type: ignore[arg-type]
        return [_outputs(submission, cell, work.output) for cell in work.cells], submission.killed


def _outputs(submission: Submission, cell: CodeCell, most: int) -> list[dict[str, Any]]:
    if cell.points is not None:
        return of_test(submission.test(cell.source), cell.points, most)
    return of_cell(submission.run(cell.source, cell.name), most) if cell.source.strip() else []
