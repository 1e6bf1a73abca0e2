"""Scores into a table that an LMS exported: only the cells of sure students change."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.classroom.lms.marks import Marks
from grader.classroom.lms.people import Roll
from grader.classroom.lms.piece import Person
from grader.classroom.sheet import Line
from grader.errors import GraderError

__all__ = ["Table", "factor", "fill", "points"]


@dataclass(frozen=True)
class Table:
    """Rows to write. filled: how many scores are in it. missing: students with a score that it has no row for.
    empty: rows it has no score for. notes: what else to tell."""

    rows: list[list[str]]
    filled: int
    missing: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def points(value: float) -> str:
    """A score as both LMSs read it: a point, at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def factor(lesson: str, theirs: str, marks: Marks, *, scale: bool, where: str) -> float:
    """What scores are multiplied by. GraderError when the points possible differ and nobody asked for that."""
    ours = marks.out_of.get(lesson)
    try:
        possible = float(theirs.replace(",", "."))
    except ValueError:
        return 1.0
    if not ours or abs(possible - ours) < 0.005:
        return 1.0
    if not scale:
        raise GraderError(
            f"{lesson} is worth {points(ours)} points here and {points(possible)} in {where}. Change it there, or have "
            "the scores converted: --scale"
        )
    return possible / ours


def fill(
    lines: list[Line], people: list[Person], marks: Marks, columns: dict[str, int], factors: dict[str, float]
) -> Table:
    """Put the scores into the lines; nothing else changes. Two rows for one student get none."""
    roll = Roll(marks.students.values())
    matches = [roll.find(person) for person in people]
    doubled = [match.students for match in matches]
    filled, empty, seen = 0, list[str](), set[str]()
    for line, person, match in zip(lines, people, matches, strict=True):
        why = match.why_not or ("two rows are this student" if doubled.count(match.students) > 1 else "")
        student = match.students[0] if len(match.students) == 1 and not why else None
        if student is None:
            empty.append(f"{person.called}: {why or 'a group'}")
            continue
        seen.add(student)
        for lesson, place in columns.items():
            score = marks.points.get((student, lesson))
            if score is None:
                empty.append(f"{person.called}: no score for {lesson}")
                continue
            line.cells[place] = points(score * factors[lesson])
            filled += 1
    scored = {student for student, lesson in marks.points if lesson in columns}
    return Table([], filled, sorted(scored - seen), empty)
