"""The dates of class.toml as the gradebook is to have them: what nbgrader, the formgrader and the late policy go by.

What the file names is set; what it named once and no longer does is taken back; all else, set by the formgrader say, is
left alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nbgrader.api import Assignment, SubmittedAssignment
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.ledger import Ledger
from grader.classroom.terms import EVERY, Terms, read_terms
from grader.errors import GraderError

__all__ = ["Dates", "due_dates", "set_dates"]

MEMORY = "dates.json"  # what we have set before


@dataclass(frozen=True)
class Dates:
    """The terms of a class, and for which lessons and extensions the gradebook has had dates from there."""

    terms: Terms
    had_due: frozenset[str] = frozenset()
    had_longer: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, folder: ClassFolder) -> Dates:
        """GraderError when class.toml cannot be read or names a lesson that the class has not."""
        terms, kept = read_terms(folder.terms_file), folder.read_json(MEMORY)
        known = folder.lessons()
        for lesson in [*terms.due, *(lesson for _, lesson in terms.extensions if lesson != EVERY)]:
            if lesson not in known:
                raise GraderError(
                    f"{folder.terms_file} names lesson {lesson!r}, which the class has not. Its lessons: "
                    f"{', '.join(known) or 'none'}. Mend the name there"
                )
        longer = frozenset((str(student), str(lesson)) for student, lesson in kept.get("extensions", []))
        return cls(terms, frozenset(kept.get("due", [])), longer)

    def due(self, lesson: str, stands: datetime | None) -> datetime | None:
        """When a lesson is to be due, where the gradebook says `stands`."""
        if lesson in self.terms.due:
            return self.terms.due[lesson]
        return None if lesson in self.had_due else stands

    def longer(self, student: str, lesson: str, due: datetime | None, stands: timedelta | None) -> timedelta | None:
        """How much longer a student is to have than until `due`, where the gradebook says `stands`."""
        until = self.terms.until(student, lesson, due) if due is not None else None
        if until is not None and due is not None:
            return until - due
        return None if {(student, lesson), (student, EVERY)} & self.had_longer else stands

    def students(self) -> set[str]:
        """Who has, or had, longer by the file."""
        return {student for student, _ in {*self.terms.extensions, *self.had_longer}}

    def remembered(self, folder: ClassFolder) -> Dates:
        """With the gradebook as the file has it; remembered for the next time."""
        now = Dates(self.terms, frozenset(self.terms.due), frozenset(self.terms.extensions))
        if now != self:
            told = {"due": sorted(now.had_due), "extensions": sorted(now.had_longer)}
            write_atomically(folder.private / MEMORY, json.dumps(told, indent=1) + "\n")
        return now


def due_dates(db: Any, dates: Dates) -> dict[str, datetime | None]:
    """When each lesson of a gradebook is due, in UTC, in the order of their names."""
    rows = db.execute(select(Assignment.name, Assignment.duedate).order_by(Assignment.name))
    return {name: dates.due(name, stands) for name, stands in rows}


def set_dates(ledger: Ledger, folder: ClassFolder) -> Dates:
    """Bring the gradebook's dates to what class.toml says, in one transaction."""
    dates = Dates.of(folder)
    if dates != Dates(dates.terms) or dates.terms.due or dates.terms.extensions:
        ledger.batch(lambda: _set(ledger.db, dates))
    return dates.remembered(folder)


def _set(db: Any, dates: Dates) -> None:
    for row in db.scalars(select(Assignment)):
        _change(row, "duedate", dates.due(row.name, row.duedate))
    theirs = select(SubmittedAssignment).where(SubmittedAssignment.student_id.in_(dates.students()))
    for row in db.scalars(theirs.options(joinedload(SubmittedAssignment.assignment))):
        longer = dates.longer(row.student_id, row.assignment.name, row.assignment.duedate, row.extension)
        _change(row, "extension", longer)


def _change(row: Any, column: str, value: Any) -> None:
    """Rows that are right already are not touched: a run that changes nothing writes nothing."""
    if getattr(row, column) != value:
        setattr(row, column, value)
