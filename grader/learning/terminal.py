"""`grader progress` and `grader restore`: a learner's progress and kept texts in a terminal."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning.dashboard import MARK, status
from grader.learning.kept import kept
from grader.learning.names import exercise_named, meant
from grader.learning.progress import Progress, mark, take_stock
from grader.learning.restore import find_notebook, restore_file
from grader.learning.workspace import resolve, write

__all__ = ["report_progress", "report_restore"]

_STYLE = {"passed": "green", "tried": "yellow", "not started": "dim"}


def report_progress(
    folder: Path | None, *, as_json: bool, export: Path | None, reset: str, undo: str, sure: bool
) -> None:
    """Print, export or reset the progress recorded in the learner's folder (here, or my-course here).

    Raises GraderError for a folder without lessons, an unknown name, or a file that cannot be written.
    """
    with contextlib.chdir(_lessons_in(folder)):
        if reset or undo:
            _change(reset, undo, sure=sure)
        else:
            stock = take_stock()
            content = as_dict(stock)
    if reset or undo:
        return
    if export is not None:
        _export(content, export)
    elif as_json:
        click.echo(json.dumps(content, indent=2))
    else:
        _print(stock)


def as_dict(stock: Progress) -> dict[str, Any]:
    """Progress as plain data: totals, the lessons with their exercises, the id to go on with (None: all done)."""
    lessons = [
        {"lesson": lesson, "passed": sum(stock.of(e).passed for e in own), "exercises": [_entry(e, stock) for e in own]}
        for lesson, own in stock.lessons.items()
    ]
    rows = [row for lesson in lessons for row in lesson["exercises"]]  # type: ignore[attr-defined]
    return {
        "passed": sum(row["state"] == "passed" for row in rows),
        "exercises": len(rows),
        "points": sum(row["points"] for row in rows),
        "out_of": sum(row["out_of"] for row in rows),
        "next": stock.next.id if stock.next else None,
        "lessons": lessons,
        "problems": stock.problems,
    }


def report_restore(name: str, notebook: Path | None, *, listed: bool, undo: bool) -> None:
    """Put the stub of an exercise back into a notebook file, or the text kept before; or list what is kept."""
    exercise = exercise_named(name)
    found = find_notebook(exercise, notebook)
    if listed:
        _list_kept(exercise, found)
        return
    done = restore_file(exercise, found, undo=undo)
    if not done.changed:
        click.echo(f"{exercise.id}: the answer cell in {found} is the stub already.")
        return
    click.echo(f"{exercise.id}: {'your earlier text' if undo else 'the stub'} is back in {found}")
    if done.kept is not None:
        click.echo(f"What stood there is kept: {done.kept}")
        click.echo(f"Undo: grader restore {exercise.id} --undo")
    click.echo("If the lesson is open in JupyterLab: File > Reload Notebook from Disk (where it asks: Revert).")


# ---- progress --------------------------------------------------------------------------------------------------------


def _lessons_in(folder: Path | None) -> Path:
    chosen = folder if folder is not None else (here if any((here := Path.cwd()).glob("*.ipynb")) else resolve(None))
    if not chosen.is_dir():
        raise GraderError(
            f"There is no course folder {chosen}, so no progress is recorded.\n"
            "Change into the folder with your lessons, or name it: grader progress FOLDER"
        )
    return chosen


def _change(reset: str, undo: str, *, sure: bool) -> None:
    if reset:
        count = len(meant(reset))
        what = f"{reset} ({count} exercises)" if count > 1 else reset
        if not sure and not click.confirm(f"Mark {what} as not started? Nothing is deleted, --undo takes it back"):
            click.echo("Nothing was changed.")
            return
        mark("reset", reset)
        click.echo(f"Reset {what}. Take it back: grader progress --undo {reset}")
    if undo:
        mark("undo", undo)
        click.echo(f"The last reset of {undo} is taken back.")


def _entry(exercise: Exercise, stock: Progress) -> dict[str, Any]:
    state = stock.of(exercise)
    return {
        "exercise": exercise.id,
        "title": exercise.title,
        "state": state.word,
        "points": state.points,
        "out_of": exercise.points,
        "tries": state.tries,
        "hints": state.hints,
        "solution_seen": state.solution,
        "last_mistake": state.diagnosis,
    }


def _export(content: dict[str, Any], path: Path) -> None:
    rows = [{"lesson": lesson["lesson"], **row} for lesson in content["lessons"] for row in lesson["exercises"]]
    if path.suffix == ".json":
        text = json.dumps(content, indent=2) + "\n"
    elif path.suffix == ".csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        text = out.getvalue()
    else:
        raise GraderError(f"{path}: the name of an export ends in .csv or .json.")
    try:
        write(path.absolute(), text.encode("utf-8"))
    except OSError as error:
        raise GraderError(f"{path} cannot be written: {error.strerror or error}.") from error
    click.echo(f"Wrote {len(rows)} exercises to {path}")


def _print(stock: Progress) -> None:
    console = Console(highlight=False)
    content = as_dict(stock)
    console.print(f"{content['passed']} of {content['exercises']} exercises passed", style="bold", end=", ")
    console.print(f"{content['points']:g} of {content['out_of']} points")
    for lesson, own in stock.lessons.items():
        passed = sum(stock.of(e).passed for e in own)
        filled = round(16 * passed / len(own))
        bar = Text("█" * filled, style="green") + Text("░" * (16 - filled), style="dim")
        console.print(Text("\n") + Text(f"{lesson}  ", style="bold") + bar + Text(f"  {passed} of {len(own)} passed"))
        console.print(_table(own, stock))
    if stock.next is not None:
        console.print(f"\nNext: {stock.next.id} in {stock.next.lesson}", style="bold")
    for problem in stock.problems:
        console.print(f"note: {problem}", style="yellow")


def _table(own: list[Exercise], stock: Progress) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(ratio=1)
    for exercise, words in _words(own, stock):
        state = stock.of(exercise)
        style = _STYLE[state.word]
        points = f"{state.points:g} / {exercise.points}"
        table.add_row(Text(MARK[state.word], style=style), exercise.id, points, Text(words, style=style))
    return table


def _words(own: list[Exercise], stock: Progress) -> Iterator[tuple[Exercise, str]]:
    for exercise in own:
        yield exercise, status(exercise, stock.of(exercise), full=False).replace("`", "")


# ---- kept texts ------------------------------------------------------------------------------------------------------


def _list_kept(exercise: Exercise, notebook: Path) -> None:
    texts = kept(exercise.id, notebook.parent)
    if not texts:
        click.echo(f"No earlier text of {exercise.id} is kept.")
    for path in texts:
        lines = path.read_text(encoding="utf-8").count("\n") + 1
        click.echo(f"{path}  ({lines} lines)")
