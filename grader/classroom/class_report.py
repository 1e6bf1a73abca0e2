"""The report as a value: everything that report.html and the tables in report/ show, found once."""

from __future__ import annotations

from dataclasses import dataclass

from grader.classroom.attention import Reason, attention
from grader.classroom.insight import (
    ExerciseCount,
    Group,
    LessonCount,
    Misconception,
    Spread,
    exercise_counts,
    groups,
    lesson_counts,
    misconceptions,
    spread,
)
from grader.classroom.likeness import Alike, alike
from grader.classroom.snapshot import Since, since_last_run
from grader.classroom.summary import ClassSummary

__all__ = ["ClassReport", "class_report", "scores"]


@dataclass(frozen=True)
class ClassReport:
    summary: ClassSummary
    total: Spread
    lessons: list[LessonCount]
    exercises: list[ExerciseCount]
    mistakes: list[Misconception]
    groups: list[Group]
    attention: list[Reason]
    since: Since
    alike: list[Alike]


def class_report(summary: ClassSummary) -> ClassReport:
    """What there is to tell of a class."""
    total = spread([row.points for row in summary.rows], summary.out_of)
    since = since_last_run(summary.folder, scores(summary))
    return ClassReport(
        summary,
        total,
        lesson_counts(summary),
        exercise_counts(summary),
        misconceptions(summary),
        groups(summary),
        attention(summary, since, total.median),
        since,
        _alike(summary),
    )


def scores(summary: ClassSummary) -> dict[tuple[str, str], float]:
    """The points that stand in the gradebook, by (student, lesson)."""
    return {(r.student, e.lesson): e.points for r in summary.rows for e in r.entries if e.points is not None}


def _alike(summary: ClassSummary) -> list[Alike]:
    entries = ((row.student, entry) for row in summary.rows for entry in row.entries)
    return alike(
        (student, entry.lesson, {name: each.split() for name, each in entry.outcome.answers.items()})
        for student, entry in entries
    )
