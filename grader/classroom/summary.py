"""The class as numbers, for the terminal, report.html and --json: rows, totals, most common mistakes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Literal

from traitlets.config import Config

from grader.classroom.changes import ScoreChange
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Row, read_rows
from grader.classroom.ledger import called
from grader.classroom.master import load_master
from grader.classroom.outcome import ExerciseResult, Outcome, Status
from grader.classroom.settings import gradebook_url
from grader.classroom.versions import TestSet
from grader.outline import outlines

__all__ = ["ClassSummary", "Entry", "Mistake", "StudentRow", "summarise"]


@dataclass(frozen=True)
class Entry:
    """One cell of the table: a student's lesson. `points` is None where nothing stands in the gradebook."""

    lesson: str
    status: Status
    points: float | None
    out_of: float
    by_hand: bool
    outcome: Outcome


@dataclass(frozen=True)
class StudentRow:
    student: str
    entries: list[Entry]

    @property
    def points(self) -> float:
        return sum(entry.points or 0.0 for entry in self.entries)


@dataclass(frozen=True)
class Mistake:
    """A misconception and who shows it: the best diagnosis of a wrong answer, or without one the first
    failed check."""

    exercise: str
    id: str
    kind: Literal["misconception", "check"]
    sentence: str
    students: list[str]


@dataclass(frozen=True)
class ClassSummary:
    folder: ClassFolder
    lessons: dict[str, float]  # the points of each
    rows: list[StudentRow]
    mistakes: list[Mistake]
    strays: list[str]
    seconds: float = 0.0
    paths: dict[str, str] = field(default_factory=dict)
    grading: str = ""  # where the submissions were graded and in what sandbox
    changes: list[ScoreChange] = field(default_factory=list)  # of submissions that have not changed themselves
    test_sets: list[TestSet] = field(default_factory=list)

    @property
    def out_of(self) -> float:
        return sum(self.lessons.values())

    @property
    def counts(self) -> dict[str, int]:
        """How many submissions ended in which status."""
        found = dict.fromkeys((str(status) for status in Status), 0)
        for row in self.rows:
            for entry in row.entries:
                found[str(entry.status)] += 1
        return found

    def to_dict(self) -> dict[str, Any]:
        """What --json prints."""
        return {
            "class": str(self.folder.root),
            "lessons": [{"id": name, "out_of": points} for name, points in self.lessons.items()],
            "students": [_row_dict(row, self.out_of) for row in self.rows],
            "mistakes": [
                {
                    "exercise": m.exercise,
                    "id": m.id,
                    "kind": m.kind,
                    "sentence": m.sentence,
                    "count": len(m.students),
                    "students": m.students,
                }
                for m in self.mistakes
            ],
            "counts": self.counts,
            "not_graded_files": self.strays,
            "grading": self.grading,
            "score_changes": [change.to_dict() for change in self.changes],
            "test_sets": [each.to_dict() for each in self.test_sets],
            "seconds": round(self.seconds, 2),
            **self.paths,
        }


def _row_dict(row: StudentRow, out_of: float) -> dict[str, Any]:
    lessons = {entry.lesson: _entry_dict(entry) for entry in row.entries}
    return {"student": row.student, "points": round(row.points, 2), "out_of": out_of, "lessons": lessons}


def _entry_dict(entry: Entry) -> dict[str, Any]:
    return {
        "status": str(entry.status),
        "points": None if entry.points is None else round(entry.points, 2),
        "out_of": entry.out_of,
        "by_hand": entry.by_hand,
        "reason": entry.outcome.reason,
        "notes": entry.outcome.notes,
        "exercises": {r.exercise: _result_dict(r) for r in entry.outcome.exercises},
    }


def _result_dict(result: ExerciseResult) -> dict[str, Any]:
    names = ("points", "out_of", "passed", "diagnosis", "failed", "problem")
    return {name: getattr(result, name) for name in names}


def summarise(folder: ClassFolder, config: Config, *, seconds: float = 0.0, lesson: str | None = None) -> ClassSummary:
    """The class as it stands in the gradebook and the kept outcomes. lesson: only this one."""
    url = gradebook_url(folder, config)
    lessons = {name: load_master(folder, name, url).out_of for name in folder.lessons() if lesson in (None, name)}
    known, points = read_rows(folder, config)
    rows = [_row(folder, student, lessons, points) for student in sorted({*known, *folder.students()})]
    return ClassSummary(folder, lessons, rows, _mistakes(rows), folder.strays(), seconds, _paths(folder, url))


def _row(
    folder: ClassFolder, student: str, lessons: dict[str, float], points: dict[tuple[str, str], Row]
) -> StudentRow:
    entries = []
    for lesson, out_of in lessons.items():
        row = points.get((student, lesson))
        outcome = Outcome.load(folder, student, lesson) or _unknown(folder, student, lesson, row)
        by_hand = row is not None and row.by_hand
        entries.append(Entry(lesson, outcome.status, row.points if row else None, out_of, by_hand, outcome))
    return StudentRow(student, entries)


def _unknown(folder: ClassFolder, student: str, lesson: str, row: Row | None) -> Outcome:
    """What `grader grade` has not seen: graded by other means, handed in since, or not handed in."""
    if row is not None:
        return Outcome(student, lesson, Status.GRADED, "graded with nbgrader itself")
    if folder.submitted(student, lesson).is_dir():
        return Outcome(student, lesson, Status.LOOK, "handed in but not graded yet: run grader grade")
    return Outcome(student, lesson, Status.MISSING)


def _mistakes(rows: list[StudentRow]) -> list[Mistake]:
    """Most common first."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    checks = set()
    for row in rows:
        for result in (result for entry in row.entries for result in entry.outcome.exercises):
            found = _mistake(result)
            if found:
                who[result.exercise, found].append(row.student)
                if not result.diagnosis:
                    checks.add((result.exercise, found))
    made = [_described(*key, key in checks, names) for key, names in who.items()]
    return sorted(made, key=lambda m: (-len(m.students), m.kind == "check", m.exercise, m.id))


def _mistake(result: ExerciseResult) -> str:
    """What went wrong in an exercise, "" when nothing did or it was never begun."""
    if result.passed or result.problem:
        return ""
    return next(iter([*result.diagnosis, *result.failed]), "")


def _described(exercise: str, id: str, is_check: bool, students: list[str]) -> Mistake:
    if is_check:
        return Mistake(exercise, id, "check", "this check failed, by no mistake known by name", students)
    return Mistake(exercise, id, "misconception", _sentence(exercise, id), students)


def _sentence(exercise: str, id: str) -> str:
    """What the misconception says to its author; "" for an exercise of another course."""
    found = outlines().get(exercise)
    return found.mistakes.get(id, "") if found else ""


def _paths(folder: ClassFolder, url: str) -> dict[str, str]:
    return {
        "gradebook": called(url),
        "feedback": str(folder.root / "feedback"),
        "report": str(folder.report),
        "tables": str(folder.tables),
    }
