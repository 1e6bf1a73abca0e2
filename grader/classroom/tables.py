"""The report as CSV files in report/, UTF-8, for a spreadsheet or a program. Each is a header and its rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from grader.classroom.class_report import ClassReport
from grader.classroom.folder import write_atomically
from grader.classroom.insight import KINDS, kind_of, results
from grader.classroom.words import number

__all__ = ["TABLES", "write_tables"]

Row = list[Any]
FORMULA = ("=", "@", "+", "-", "\t", "\r")  # what a spreadsheet would run


def write_tables(report: ClassReport) -> None:
    """Write all tables into the class's report/ folder."""
    for name, rows in TABLES.items():
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(map(_safe, rows(report)))
        write_atomically(report.summary.folder.tables / f"{name}.csv", text.getvalue())


def _safe(row: Iterable[Any]) -> list[Any]:
    """Points as people write them; text that a spreadsheet would take for a formula with a ' in front."""
    return [_cell(value) for value in row]


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return number(value)
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return "" if value is None else value


def _scores(report: ClassReport) -> Iterator[Row]:
    summary = report.summary
    yield ["student", *summary.lessons, "total", "out_of"]
    for row in summary.rows:
        yield [row.student, *(entry.points for entry in row.entries), row.points, summary.out_of]


def _results(report: ClassReport) -> Iterator[Row]:
    yield ["student", "lesson", "exercise", "verdict", "points", "out_of", "mistake", "failed_checks", "problem"]
    for row, entry, result in results(report.summary):
        mistake, failed = " ".join(result.diagnosis[:1]), " ".join(result.failed)
        what = [result.exercise, kind_of(result), result.points, result.out_of]
        yield [row.student, entry.lesson, *what, mistake, failed, result.problem]


def _exercises(report: ClassReport) -> Iterator[Row]:
    yield ["lesson", "exercise", "handed_in", *KINDS, "percent_right"]
    for each in report.exercises:
        yield [each.lesson, each.exercise, each.count, *(each.kinds[kind] for kind in KINDS), round(each.rate, 1)]


def _mistakes(report: ClassReport) -> Iterator[Row]:
    yield ["mistake", "what_they_do", "students", "of", "exercises", "sentence", "teach", "who"]
    for m in report.mistakes:
        where = " ".join(f"{name}:{count}" for name, count in m.exercises.items())
        yield [m.id, m.phrase, len(m.students), m.of, where, m.sentence, m.teach, ", ".join(m.students)]


def _attention(report: ClassReport) -> Iterator[Row]:
    yield ["student", "lesson", "urgency", "why"]
    for reason in report.attention:
        yield [reason.student, reason.lesson, reason.urgency.name.lower(), reason.why]


def _groups(report: ClassReport) -> Iterator[Row]:
    yield ["lesson", "exercise", "students", "diagnosis", "failed_checks", "problem", "who"]
    for group in report.groups:
        how = [" ".join(group.diagnosis), " ".join(group.failed), group.problem]
        yield [group.lesson, group.exercise, len(group.students), *how, ", ".join(group.students)]


def _changes(report: ClassReport) -> Iterator[Row]:
    yield ["student", "lesson", "before", "now"]
    for change in report.since.changed:
        yield [change.student, change.lesson, change.before, change.now]


def _alike(report: ClassReport) -> Iterator[Row]:
    yield ["student", "other", "bits", "exercises", "shared_comments"]
    for pair in report.alike:
        how = "; ".join(f"{words}: {' '.join(where)}" for words, where in pair.exercises.items())
        yield [*pair.students, round(pair.bits, 1), how, pair.comments]


TABLES: dict[str, Callable[[ClassReport], Iterator[Row]]] = {
    "scores": _scores,
    "results": _results,
    "exercises": _exercises,
    "mistakes": _mistakes,
    "attention": _attention,
    "groups": _groups,
    "changes": _changes,
    "alike": _alike,
}
