"""Everybody in the class and every score, as a plain table."""

from __future__ import annotations

from grader.classroom.lms.fill import Table, points
from grader.classroom.lms.marks import Marks

__all__ = ["plain", "whole"]


def plain(marks: Marks, lessons: list[str]) -> Table:
    """Everybody in the class with every lesson, what each is out of, and the sum."""
    header = ["student", "first_name", "last_name", "email", *lessons, "total"]
    table = whole(marks, lessons, header, totals=True)
    out_of = [points(marks.out_of[lesson]) if lesson in marks.out_of else "" for lesson in lessons]
    table.rows.insert(1, ["out of", "", "", "", *out_of, points(sum(marks.out_of.values()))])
    return table


def whole(marks: Marks, lessons: list[str], header: list[str], *, totals: bool) -> Table:
    rows, empty = [header], []
    for student in marks.students.values():
        scores = [marks.points.get((student.id, lesson)) for lesson in lessons]
        told = [score for score in scores if score is not None]
        if not told:
            empty.append(f"{student.id}: no score")
        cells = ["" if score is None else points(score) for score in scores]
        last = [points(sum(told))] if totals else []
        rows.append([student.id, student.first_name, student.last_name, student.email, *cells, *last])
    return Table(rows, len(marks.points), empty=empty)
