"""What the commands new-class, grade and report print."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
from rich.console import Console

from grader.classroom.changes import ScoreChange
from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.progress import watcher
from grader.classroom.report_page import write_report
from grader.classroom.run import grade_class
from grader.classroom.settings import find_alembic, load_config
from grader.classroom.students import read_students
from grader.classroom.summary import ClassSummary, summarise
from grader.classroom.table import print_changes, print_summary
from grader.errors import GraderError
from grader.grading.pool import Pool

__all__ = ["create", "grade", "report"]


def create(path: Path, *, example: bool, students: Path | None = None, exchange: Path | None = None) -> None:
    """Make or refresh a class and say what to do next."""
    made = new_class(path, students=read_students(students) if students else None, exchange=exchange)
    click.echo(f"{'Refreshed' if made.existed else 'Made'} the class in {path}: {', '.join(made.lessons)}.")
    if made.kept:
        click.echo(f"Kept as you edited them in source/: {', '.join(made.kept)}.")
    if made.entered is not None:
        click.echo(f"Students: {len(made.entered.added)} added, {len(made.entered.updated)} updated.")
    if example:
        from grader.classroom.example import fill

        people = fill(made.folder)
        click.echo(f"Wrote the submissions of {len(people)} students.")
    if exchange is not None:
        click.echo(f"The exchange is in {exchange}. In {path}, hand out a lesson: nbgrader release_assignment LESSON")
        click.echo(f"Take in and grade: nbgrader collect LESSON --update, then: grader grade {path}")
        return
    click.echo(f"Hand out release/, put what comes back into submitted/STUDENT/LESSON/, then: grader grade {path}")


def grade(
    path: Path,
    *,
    lesson: str | None,
    jobs: int | None,
    force: bool,
    unsafe: bool,
    scheduler: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    pool: Pool | None = None,
) -> None:
    """Grade, with what goes on shown on stderr, and print the result."""
    stderr = Console(stderr=True)
    shown = watcher(stderr)
    try:
        summary = grade_class(
            path,
            lesson=lesson,
            jobs=jobs,
            force=force,
            unsafe=unsafe,
            scheduler=scheduler,
            dry_run=dry_run,
            agree=lambda changes: _agreed(changes, stderr, yes=yes),
            watcher=shown,
            pool=pool,
        )
    except KeyboardInterrupt:
        raise GraderError(f"stopped. What was graded until now is kept; go on with: grader grade {path}") from None
    finally:
        shown.end()
    if dry_run:
        print_changes(summary.changes, stderr, title="What a run without --dry-run would enter")
    else:
        write_report(summary if lesson is None else _summary(summary.folder), after_run=True)
    _print(summary, as_json)


def _agreed(changes: list[ScoreChange], stderr: Console, *, yes: bool) -> bool:
    """Show which scores would change; on a terminal, ask whether they shall."""
    print_changes(changes, stderr, title="Other scores for the same submissions, by a changed test set")
    if yes or not (sys.stdin.isatty() and stderr.is_terminal):
        return True
    agreed = click.confirm("Write these scores into the gradebook?", err=True)
    if not agreed:
        click.echo("Nothing of it was written; the next run asks again.", err=True)
    return agreed


def report(path: Path, *, as_json: bool) -> None:
    """Write report.html and its tables anew and print the class."""
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
