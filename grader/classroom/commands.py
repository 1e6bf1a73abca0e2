"""What the commands new-class, grade and report print."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
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
from grader.classroom.table import print_changes, print_summary, print_test_sets
from grader.classroom.term_commands import print_lessons
from grader.errors import GraderError
from grader.grading.pool import Pool

__all__ = ["create", "grade", "report"]


def create(
    path: Path,
    *,
    example: bool,
    chosen: Sequence[str] = (),
    due: Sequence[str] = (),
    timezone: str | None = None,
    students: Path | None = None,
    exchange: Path | None = None,
) -> None:
    """Make or refresh a class and say what to do next."""
    made = new_class(
        path,
        chosen=chosen,
        timezone=timezone,
        due=dict(map(_due, due)),
        students=read_students(students) if students else None,
        exchange=exchange,
    )
    click.echo(f"{'Refreshed' if made.existed else 'Made'} the class in {path}:")
    console = Console()
    print_lessons(made.folder, console if console.is_terminal else Console(width=160))
    if made.left_out:
        click.echo(f"Not in it: {', '.join(made.left_out)}. To add one: grader new-class {path} --lesson NAME")
    if made.kept:
        click.echo(f"Kept as you edited them in source/: {', '.join(made.kept)}.")
    if made.entered is not None:
        click.echo(f"Students: {len(made.entered.added)} added, {len(made.entered.updated)} updated.")
    if example:
        from grader.classroom.example import fill

        people = fill(made.folder)
        click.echo(f"Wrote the submissions of {len(people)} students.")
    click.echo(f"Due dates, extensions and what lateness costs: {made.folder.terms_file}")
    if exchange is not None:
        click.echo(f"The exchange is in {exchange}. In {path}, hand out a lesson: nbgrader release_assignment LESSON")
        click.echo(f"Take in and grade: nbgrader collect LESSON --update, then: grader grade {path}")
        return
    click.echo(f"Hand out release/, put what comes back into submitted/STUDENT/LESSON/, then: grader grade {path}")


def _due(told: str) -> tuple[str, str]:
    lesson, _, when = told.partition("=")
    if not when.strip():
        raise GraderError(f"--due {told!r} says no time. Write it like: --due 02_relu=2026-10-05T23:59")
    return lesson.strip(), when.strip()


def grade(
    path: Path,
    *,
    lesson: str | None,
    jobs: int | None,
    unsafe: bool,
    scheduler: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    pool: Pool | None = None,
    again: bool = False,
    student: str | None = None,
) -> None:
    """Grade, with what goes on shown on stderr, and print the result. again: unchanged submissions too."""
    stderr = Console(stderr=True)
    shown = watcher(stderr)
    try:
        summary = grade_class(
            path,
            lesson=lesson,
            student=student,
            jobs=jobs,
            force=again,
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
    if again:
        print_test_sets(summary.test_sets, stderr)
    _print(summary, as_json)


def _agreed(changes: list[ScoreChange], stderr: Console, *, yes: bool) -> bool:
    """Show which scores would change; on a terminal, ask whether they shall."""
    print_changes(changes, stderr, title="Other points for the same submissions, by other tests, dates or late rules")
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
