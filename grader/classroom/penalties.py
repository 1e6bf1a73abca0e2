"""What lateness costs, found again for all that is graded when dates, extensions or rules have changed; nothing is run.

nbgrader's own step (AssignLatePenalties) decides with the class's plugin, on figures read in one select.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nbformat.v4 import new_notebook
from nbgrader import preprocessors as stock
from nbgrader.api import Assignment, BaseCell, Grade, Notebook, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import func, or_, select
from traitlets.config import Config
from traitlets.utils.importstring import import_item

from grader.classroom.changes import ScoreChange
from grader.classroom.dates import Dates
from grader.classroom.gradebook import Writer
from grader.classroom.steps import lending

__all__ = ["Moved", "enter", "moved"]

TINY = 1e-6  # points; sums of points differ in their last digits
_QUIET = logging.Logger("lateness", logging.ERROR)  # nbgrader would log every late submission at every run


@dataclass(frozen=True)
class Moved:
    """A submission's notebook whose penalty is to be another one."""

    id: str
    student: str
    lesson: str
    score: float
    before: float
    after: float | None

    def change(self) -> ScoreChange:
        after = self.after or 0.0
        told: dict[str, tuple[float | None, float]] = {"lateness": (-self.before or 0.0, -after or 0.0)}
        return ScoreChange(self.student, self.lesson, self.score - self.before, self.score - after, told)


@dataclass
class _Work:
    """As much of a submission, and of its notebook, as nbgrader's step and a plugin ask for."""

    name: str
    student_id: str
    timestamp: datetime | None
    duedate: datetime | None
    score: float
    max_score: float
    late_submission_penalty: float | None = None

    @property
    def total_seconds_late(self) -> float:
        if self.timestamp is None or self.duedate is None:
            return 0.0
        return max(0.0, (self.timestamp - self.duedate).total_seconds())


class _Book:
    """In the place of the gradebook: one submission, in memory."""

    def __init__(self, work: _Work) -> None:
        self.work, self.db = work, self

    def __enter__(self) -> _Book:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def commit(self) -> None:
        """Nothing: what has changed is entered later."""

    def find_submission(self, *_: str) -> _Work:
        return self.work

    def find_submission_notebook(self, *_: str) -> _Work:
        return self.work


def moved(writer: Writer, config: Config, dates: Dates) -> list[Moved]:
    """Whose penalty is not what the dates and the class's plugin make it now, by student and lesson."""
    listed = [import_item(s) if isinstance(s, str) else s for s in writer.autograding.converter.autograde_preprocessors]
    if stock.AssignLatePenalties not in listed:  # the class has none, or one of its own that we cannot know
        return []
    step = stock.AssignLatePenalties(config=config, log=_QUIET)
    found: list[Moved] = []
    writer.ledger.batch(lambda: found.extend(_moved(writer.ledger.db, step, dates)))
    return sorted(found, key=lambda each: (each.student, each.lesson))


def _moved(db: Any, step: Any, dates: Dates) -> list[Moved]:
    columns = (
        SubmittedNotebook.id,
        SubmittedNotebook.notebook_id,
        SubmittedNotebook.late_submission_penalty.label("penalty"),
        SubmittedAssignment.student_id,
        SubmittedAssignment.timestamp,
        SubmittedAssignment.extension,
        Assignment.name,
        Assignment.duedate,
    )
    chosen = (
        select(*columns)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
        .where(or_(SubmittedAssignment.timestamp.is_not(None), SubmittedNotebook.late_submission_penalty != 0))
    )
    by_notebook: dict[str, list[tuple[Any, datetime | None]]] = {}
    for row in db.execute(chosen):
        until = _until(row, dates)
        if row.penalty or (until is not None and row.timestamp > until):
            by_notebook.setdefault(row.notebook_id, []).append((row, until))
    found = [_looked_at(db, step, notebook, rows) for notebook, rows in by_notebook.items()]
    return [each for some in found for each in some]


def _until(row: Any, dates: Dates) -> datetime | None:
    """When a submission is due, its extension counted."""
    due: datetime | None = dates.due(row.name, row.duedate)
    longer = dates.longer(row.student_id, row.name, due, row.extension)
    return due + longer if due is not None and longer is not None else due


def _looked_at(db: Any, step: Any, notebook: str, rows: list[tuple[Any, datetime | None]]) -> list[Moved]:
    """Those of one notebook's submissions whose penalty moves."""
    name, possible = db.execute(select(Notebook.name, Notebook.max_score).where(Notebook.id == notebook)).one()
    # By cell first, as the index has it: by submission alone the grades of the whole class would be read.
    cells = list(db.scalars(select(BaseCell.id).where(BaseCell.notebook_id == notebook)))
    sums = select(Grade.notebook_id, func.sum(Grade.score)).where(
        Grade.cell_id.in_(cells), Grade.notebook_id.in_([row.id for row, _ in rows])
    )
    scores = dict(db.execute(sums.group_by(Grade.notebook_id)).all())
    found = []
    for row, until in rows:
        work = _Work(row.name, row.student_id, row.timestamp, until, scores.get(row.id) or 0.0, possible)
        about = {"student": row.student_id, "assignment": row.name, "notebook": name, "db_url": ""}
        with lending(_Book(work)):
            step.preprocess(new_notebook(), {"nbgrader": about})
        before, after = row.penalty or 0.0, work.late_submission_penalty
        if abs(before - (after or 0.0)) > TINY:
            found.append(Moved(row.id, row.student_id, row.name, work.score, before, after))
    return found


def enter(writer: Writer, found: list[Moved]) -> None:
    """Write these penalties, all or none."""

    def write() -> None:
        for each in found:
            row = writer.ledger.db.get(SubmittedNotebook, each.id)
            if row is not None:
                row.late_submission_penalty = each.after

    writer.ledger.batch(write)
