"""What the commands new-class, grade and report print."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.page import write_report
from grader.classroom.run import grade_class
from grader.classroom.settings import find_alembic, load_config
from grader.classroom.summary import ClassSummary, summarise
from grader.classroom.table import print_summary, progress_line

__all__ = ["create", "grade", "report"]


def create(path: Path, *, example: bool) -> None:
    """Make or refresh a class and say what to do next."""
    made = new_class(path)
    click.echo(f"{'Refreshed' if made.existed else 'Made'} the class in {path}: {', '.join(made.lessons)}.")
    if made.kept:
        click.echo(f"Kept as you edited them in source/: {', '.join(made.kept)}.")
    if example:
        from grader.classroom.example import fill

        people = fill(made.folder)
        click.echo(f"Wrote the submissions of {len(people)} students.")
    click.echo(f"Hand out release/, put what comes back into submitted/STUDENT/LESSON/, then: grader grade {path}")


def grade(path: Path, *, lesson: str | None, jobs: int | None, force: bool, as_json: bool) -> None:
    """Grade, with a line on stderr for each submission, and print the result."""
    summary = grade_class(
        path,
        lesson=lesson,
        jobs=jobs,
        force=force,
        say=lambda done, total, outcome: click.echo(progress_line(done, total, outcome), err=True),
    )
    whole = summary if lesson is None else _summary(summary.folder)
    write_report(whole)
    _print(summary, as_json)


def report(path: Path, *, as_json: bool) -> None:
    """Write report.html anew and print the class."""
    summary = _summary(ClassFolder.open(path))
    write_report(summary)
    _print(summary, as_json)


def _summary(folder: ClassFolder) -> ClassSummary:
    find_alembic()
    return summarise(folder, load_config(folder))


def _print(summary: ClassSummary, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary.to_dict(), indent=1, ensure_ascii=False))
    else:
        console = Console()
        print_summary(summary, console if console.is_terminal else Console(width=160))
