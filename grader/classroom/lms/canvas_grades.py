"""Canvas's gradebook as a CSV, filled in.

Its import (github.com/instructure/canvas-lms, lib/gradebook_importer.rb and gradebook_exporter.rb) knows students by
its own ID column and assignments by "Name (123)". An empty cell takes a grade away, so that every cell we have no
score for stays as it was. Only the columns that are filled go out, with Canvas's own rows (points possible, posting)
above.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from grader.classroom.lms.fill import Table, factor, fill
from grader.classroom.lms.marks import Marks
from grader.classroom.lms.piece import Person
from grader.classroom.sheet import Line, Sheet, heading, read_sheet
from grader.errors import GraderError

__all__ = ["fill_canvas"]


def fill_canvas(
    template: Path, marks: Marks, lessons: list[str], *, column: str | None = None, scale: bool = False
) -> Table:
    """Canvas's exported gradebook with the scores of `lessons`.

    column: what the assignment is called in Canvas, for a single lesson; else as the lesson. scale: where the points
    possible differ, convert. GraderError when it is no such export, or the columns or points do not fit.
    """
    sheet = read_sheet(template)
    number, section = sheet.column("id"), sheet.column("section")
    if number is None or section is None or not sheet.header[0].lstrip("\ufeff").startswith(("Student", "LastName")):
        raise GraderError(
            f"{template} is no gradebook of Canvas. Take one from Grades, Export, Export Entire Gradebook: Canvas "
            "takes scores only beside its own ids"
        )
    above = [line for line in sheet.lines if _is_canvas_row(line)]
    possible = next((line for line in above if "Points Possible" in line.cells[0]), None)
    columns = _assignments(sheet, section, lessons, column)
    factors = {}
    for lesson, place in columns.items():
        theirs = possible.cells[place] if possible else ""
        factors[lesson] = factor(lesson, theirs, marks, scale=scale, where="Canvas")
    lines = [line for line in sheet.lines if line not in above and not line.cells[0].startswith("Student, Test")]
    people = [_canvas_person(sheet, line) for line in lines]
    kept = [*range(section + 1), *columns.values()]
    filled = fill(lines, people, marks, columns, factors)
    rows = [[line.cells[c] for c in kept] for line in (Line(1, sheet.header), *above, *lines)]
    scored = {lesson for _, lesson in marks.points}
    notes = [f"{template} has no column for {name}" for name in lessons if name in scored and name not in columns]
    return replace(filled, rows=rows, notes=notes)


def _is_canvas_row(line: Line) -> bool:
    rest = [cell for cell in line.cells if cell]
    return "Points Possible" in line.cells[0] or all(re.match(r"(Muted|Manual Posting)", cell, re.I) for cell in rest)


def _assignments(sheet: Sheet, section: int, lessons: list[str], column: str | None) -> dict[str, int]:
    """The column of each lesson that has one: "02_relu (4711)" is 02_relu's."""
    named = {lesson: column or lesson for lesson in lessons}
    titles = {c: re.sub(r"\s*\(\d+\)$", "", text) for c, text in enumerate(sheet.header) if c > section}
    found = {}
    for lesson, name in named.items():
        places = [c for c, title in titles.items() if heading(title) == heading(name) or sheet.header[c] == name]
        if len(places) > 1:
            raise GraderError(
                f"{sheet.path} has {len(places)} columns called {name!r}; say which: --column 'NAME (ID)'"
            )
        if places:
            found[lesson] = places[0]
    if not found:
        there = ", ".join(sheet.header[c] for c in titles) or "none"
        raise GraderError(
            f"{sheet.path} has no column for {', '.join(named.values())}. Its columns: {there}. Make the assignment in "
            "Canvas first and export again, or say which it is: --lesson LESSON --column 'NAME'"
        )
    return found


def _canvas_person(sheet: Sheet, line: Line) -> Person:
    ids = sheet.texts(line, "sis login id", "sis user id", "integration id")
    name, number = line.cells[0], line.cells[sheet.column("id") or 0]
    if heading(sheet.header[0]) == "lastname":
        name = f"{line.cells[0]}, {line.cells[1]}"
    emails = tuple(identity for identity in ids if "@" in identity)
    return Person(f"{name} ({number})", name, emails, ids, (number,) if number else ())
