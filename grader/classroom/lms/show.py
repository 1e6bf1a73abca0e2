"""What import-zip and export-grades print."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.classroom.lms.give_out import GivenOut
from grader.classroom.lms.take_in import TakenIn

__all__ = ["show_given_out", "show_taken_in"]

MOST = 20


def show_taken_in(taken: TakenIn, path: Path, *, as_json: bool) -> int:
    """Print what became of a zip; 0 when all of it was taken, else 1."""
    if as_json:
        click.echo(json.dumps(taken.to_dict(), indent=1, ensure_ascii=False))
        return int(bool(taken.skipped))
    terminal = Console()
    console = terminal if terminal.is_terminal else Console(width=160)
    if taken.outcomes:
        console.print(_taken(taken))
    if taken.skipped:
        console.print(_skipped(taken))
    told = [f"{count} {what}" for what, count in Counter(outcome.what for outcome in taken.outcomes).items()]
    told += [f"{len(taken.skipped)} not taken"] if taken.skipped else []
    click.echo(f"{'; '.join(told) or 'Nothing to take'}. Read as a zip from {taken.layout.capitalize()}.")
    for note in taken.notes:
        click.echo(f"Note: {_plain(note)}.")
    if taken.absent:
        click.echo(f"Nothing from: {_listed(taken.absent)}.")
    if taken.dry_run:
        click.echo("Nothing was written (--dry-run).")
    else:
        click.echo(f"Next: grader grade {path}")
    return int(bool(taken.skipped))


def _taken(taken: TakenIn) -> Table:
    table = _table(
        "Would be taken" if taken.dry_run else "Taken",
        "student",
        "lesson",
        "in the zip",
        "known by",
        "handed in",
        "what",
    )
    for outcome in taken.outcomes:
        submission = outcome.submission
        time = f"{submission.when:%Y-%m-%d %H:%M %Z}" if submission.when else "not told"
        what = "; ".join(filter(None, [outcome.what, outcome.kept and f"kept: {outcome.kept}", *submission.notes]))
        table.add_row(
            *map(
                _text,
                (
                    submission.student,
                    submission.lesson,
                    submission.shown,
                    submission.how,
                    f"{time}{', late' if submission.late else ''}",
                    what,
                ),
            )
        )
    return table


def _skipped(taken: TakenIn) -> Table:
    table = _table("Not taken", "in the zip", "whose", "why not")
    for skipped in taken.skipped:
        table.add_row(_text(skipped.shown), _text(skipped.called), _text(skipped.why))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _text(text: str) -> Text:
    return Text(_plain(text))


def _plain(text: str) -> str:
    """Without letters that steer a terminal: names in a zip are strangers' text."""
    return "".join("?" if unicodedata.category(letter)[0] == "C" else letter for letter in text)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return _plain(", ".join(names[:MOST])) + more


def show_given_out(given: GivenOut) -> int:
    """Print what was written and what it lacks; 1 when somebody's score is not in it."""
    table = given.table
    click.echo(f"Wrote {table.filled} scores to {given.path}.")
    for note in table.notes:
        click.echo(f"Note: {_plain(note)}.")
    if table.empty:
        click.echo(f"No score written for ({len(table.empty)}):")
        for text in table.empty:
            click.echo(f"  {_plain(text)}")
    if table.missing:
        click.echo(
            f"Not in the file, since the template has no row for them, are the scores of {len(table.missing)}: "
            f"{_plain(', '.join(table.missing))}. Put their LMS ids in the class's list: "
            "grader new-class DIR --students FILE",
            err=True,
        )
    return int(bool(table.missing))
