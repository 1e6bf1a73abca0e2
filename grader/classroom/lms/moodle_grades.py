"""Moodle's offline grading worksheet, filled in; and a CSV for the import of its gradebook.

The worksheet (github.com/moodle/moodle: mod/assign/gradingtable.php makes it, feedback/offline/importgradeslib.php
reads it) needs Identifier, Grade and "Last modified (grade)" as they were; Moodle skips a grade that it holds to be
changed since. The columns behind, Moodle's own feedback, are left out, so that an import does not touch it. The
gradebook's import (docs.moodle.org, "Grade import") takes any CSV with an email or id number and asks what is what.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from grader.classroom.lms.fill import Table, factor, fill
from grader.classroom.lms.marks import Marks
from grader.classroom.lms.piece import Person
from grader.classroom.lms.plain_grades import whole
from grader.classroom.sheet import Line, Sheet, read_sheet
from grader.errors import GraderError

__all__ = ["fill_worksheet", "for_moodle"]


def fill_worksheet(
    template: Path, marks: Marks, lesson: str, *, column: str | None = None, scale: bool = False
) -> Table:
    """Moodle's offline grading worksheet with the scores of one lesson. column: its heading for the grade, where that
    is not English. GraderError when it is no worksheet, or the maximum differs and `scale` was not asked for."""
    sheet = read_sheet(template)
    identifier, grade = sheet.column("identifier"), sheet.column(column or "grade")
    if grade is None or (identifier is None and column is None):
        raise GraderError(
            f"{template} is no grading worksheet of Moodle: it has no column Identifier or {column or 'Grade'}. In the "
            'assignment, choose "Download grading worksheet", with Moodle in English'
        )
    maximum, locked = sheet.column("maximum grade"), sheet.column("grade can be changed")
    theirs = next((line.cells[maximum] for line in sheet.lines if maximum is not None and line.cells[maximum]), "")
    factors = {lesson: factor(lesson, theirs, marks, scale=scale, where="Moodle")}
    people = [_moodle_person(sheet, line, identifier or 0) for line in sheet.lines]
    filled = fill(sheet.lines, people, marks, {lesson: grade}, factors)
    notes = [
        f"Moodle has locked the grade of {person.called}"
        for line, person in zip(sheet.lines, people, strict=True)
        if locked is not None and line.cells[locked].casefold() == "no"
    ]
    last = sheet.column("last modified (grade)")
    width = len(sheet.header) if last is None else last + 1
    rows = [sheet.header, *(line.cells for line in sheet.lines)]
    return replace(filled, rows=[row[:width] for row in rows], notes=notes)


def _moodle_person(sheet: Sheet, line: Line, identifier: int) -> Person:
    name = "".join(sheet.texts(line, "full name")[:1])
    called = f"{name} ({line.cells[identifier]})" if name else line.cells[identifier]
    emails, ids = sheet.texts(line, "email address", "email"), sheet.texts(line, "id number", "username")
    return Person(called, name, emails, ids, anonymous=not name)


def for_moodle(marks: Marks, lessons: list[str]) -> Table:
    """A CSV for Moodle's gradebook import, where there is no worksheet: map Email address or ID number there."""
    header = ["ID number", "First name", "Last name", "Email address", *lessons]
    return whole(marks, lessons, header, totals=False)
