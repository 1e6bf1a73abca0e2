"""The class in the terminal: student x lesson with points, what needs attention, the most common mistakes."""

from __future__ import annotations

from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from grader.classroom.changes import ScoreChange
from grader.classroom.outcome import Outcome, Status
from grader.classroom.summary import ClassSummary, Entry, StudentRow
from grader.classroom.versions import TestSet
from grader.classroom.words import number

__all__ = ["attention", "print_changes", "print_summary", "print_test_sets", "progress_line"]

MOST = 10
STYLE = {Status.GRADED: "", Status.LOOK: "yellow", Status.UNREADABLE: "red", Status.MISSING: "dim"}


def print_summary(summary: ClassSummary, console: Console) -> None:
    """Print everything, ending with where gradebook, feedback and report lie."""
    console.print(_grid(summary))
    told = [f"{count} {status}" for status, count in summary.counts.items() if count]
    console.print(f"{', '.join(told)}. {summary.seconds:.0f} s.\n", highlight=False)
    console.print(Group(*_attention(summary), *_mistakes(summary), *_strays(summary)), highlight=False)
    for name, path in summary.paths.items():
        console.print(f"{name:<10} {path}", soft_wrap=True, highlight=False, markup=False)


def _grid(summary: ClassSummary) -> Table:
    table = Table(title=f"Class {escape(summary.folder.name)}", title_justify="left", title_style="bold")
    table.add_column("student", no_wrap=True)
    for lesson, points in summary.lessons.items():
        table.add_column(f"{lesson}\n/ {number(points)}", justify="right")
    table.add_column(f"total\n/ {number(summary.out_of)}", justify="right", style="bold")
    for row in summary.rows:
        table.add_row(Text(row.student), *map(_cell, row.entries), number(row.points))
    return table


def _cell(entry: Entry) -> Text:
    hand = "*" if entry.by_hand else ""
    points = "" if entry.points is None else f"{number(entry.points)}{hand}"
    mark = {Status.LOOK: "look", Status.UNREADABLE: "unreadable", Status.MISSING: "-"}.get(entry.status, "")
    return Text(" ".join(filter(None, [points, mark])), style=STYLE[entry.status])


def attention(rows: list[StudentRow]) -> list[tuple[Entry, str]]:
    """Entries with something to say, most pressing first, each with it in words."""
    rank = {Status.UNREADABLE: 0, Status.LOOK: 1, Status.GRADED: 2, Status.MISSING: 3}
    told = [
        (entry, "; ".join(filter(None, [entry.outcome.reason, *entry.outcome.notes])))
        for row in rows
        for entry in row.entries
    ]
    return sorted((pair for pair in told if pair[1]), key=lambda pair: rank[pair[0].status])


def _attention(summary: ClassSummary) -> list[Table | Text]:
    found = attention(summary.rows)
    if not found:
        return []
    table = Table(
        title="What was found in the files",
        title_justify="left",
        title_style="bold",
        box=None,
        pad_edge=False,
    )
    for name in ("student", "lesson", "status"):
        table.add_column(name, no_wrap=True)
    table.add_column("", overflow="fold")
    for entry, words in found:
        status = Text(str(entry.status), style=STYLE[entry.status])
        table.add_row(Text(entry.outcome.student), entry.lesson, status, Text(words))
    return [table, Text("")]


def _mistakes(summary: ClassSummary) -> list[Table | Text]:
    if not summary.mistakes:
        return []
    table = Table(title="Most common mistakes", title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("exercise", no_wrap=True)
    table.add_column("mistake", no_wrap=True)
    table.add_column("", overflow="fold")
    for mistake in summary.mistakes[:MOST]:
        table.add_row(f"{len(mistake.students)}x", mistake.exercise, mistake.id, Text(mistake.sentence))
    return [table, Text("")]


def _strays(summary: ClassSummary) -> list[Text]:
    if not summary.strays:
        return []
    lessons = ", ".join(summary.lessons)
    names = ", ".join(summary.strays[:MOST])
    return [Text(f"Not graded, since no lesson ({lessons}) is named so: {names}\n", style="yellow")]


def progress_line(done: int, total: int, outcome: Outcome) -> str:
    """One line for stderr while the run goes on."""
    earned, most = sum(r.points for r in outcome.exercises), sum(r.out_of for r in outcome.exercises)
    who = f"[{done}/{total}] {outcome.student} {outcome.lesson}"
    return f"{who}: {outcome.status} {number(earned)} / {number(most)} ({outcome.seconds:.1f} s)"


def print_changes(changes: list[ScoreChange], console: Console, *, title: str) -> None:
    """Print points before and after, submission by submission."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in ("student", "lesson"):
        table.add_column(name, no_wrap=True)
    for name in ("before", "after"):
        table.add_column(name, justify="right")
    table.add_column("exercises", overflow="fold")
    for change in changes:
        moved = ", ".join(f"{name} {_points(old)} → {number(new)}" for name, (old, new) in change.exercises.items())
        before, after = _points(change.before), number(change.after)
        table.add_row(Text(change.student), change.lesson, before, after, Text(moved))
    console.print(table if changes else f"{title}: nothing.", highlight=False)


def print_test_sets(found: list[TestSet], console: Console) -> None:
    """Print which submissions were graded with which version of the tests."""
    table = Table(title="Tests and who was graded with them", title_justify="left", title_style="bold", box=None)
    for name in ("lesson", "tests", "since (UTC)"):
        table.add_column(name, no_wrap=True)
    table.add_column("graded", justify="right")
    table.add_column("", overflow="fold")
    for each in found:
        some = ", ".join(each.students[:MOST]) + (" ..." if len(each.students) > MOST else "")
        who = "the tests of now" if each.now else some
        table.add_row(each.lesson, each.version[:8], each.since or "-", str(len(each.students)), Text(who))
    console.print(table, highlight=False)


def _points(value: float | None) -> str:
    return "-" if value is None else number(value)
