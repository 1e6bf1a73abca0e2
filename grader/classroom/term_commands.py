"""What the commands of a term print: extend, restore-gradebook, and the lessons with their dates."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
from nbgrader.api import Gradebook
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.classroom import backup
from grader.classroom.clock import shown
from grader.classroom.dates import Dates, due_dates, set_dates
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Writer, course_id, read_rows
from grader.classroom.ledger import open_gradebook, patiently
from grader.classroom.outcome import forget_stamps
from grader.classroom.settings import find_alembic, gradebook_url, load_config
from grader.classroom.terms import EVERY, read_terms
from grader.classroom.terms_file import give_longer, take_back
from grader.classroom.words import number, one_of
from grader.errors import GraderError

__all__ = ["extend", "print_lessons", "restore"]


def print_lessons(folder: ClassFolder, console: Console) -> None:
    """Print the lessons of a class: points and when they are due."""
    config = load_config(folder)
    terms, table = read_terms(folder.terms_file), Table(box=None, pad_edge=False)
    table.add_column("lesson", no_wrap=True)
    table.add_column("points", justify="right")
    table.add_column(f"due ({terms.local})", no_wrap=True)
    book: Gradebook
    with open_gradebook(gradebook_url(folder, config), course_id(config)) as book:
        for row in book.assignments:
            due = shown(row.duedate, terms.local) if row.duedate else "-"
            table.add_row(row.name, number(row.max_score), due)
    console.print(table, highlight=False)


def extend(
    path: Path, student: str | None, lesson: str | None, *, until: str | None, days: int | None, remove: bool
) -> None:
    """Give a student longer, take that back, or list who has longer."""
    folder = ClassFolder.open(path)
    with folder.locked():
        if until is None and days is None and not remove:
            _list(folder, student)
            return
        if student is None or (until is not None) + (days is not None) + remove != 1:
            raise GraderError("name the student, and one of --until, --days and --remove")
        if lesson is None and until is not None:
            raise GraderError("--until wants the lesson too; for every lesson give --days, or name one")
        name = EVERY if lesson is None else one_of(lesson, folder.lessons(), "lesson")
        if remove:
            _take_back(folder, student, name)
        else:
            _give(folder, student, name, until, days)
        find_alembic()
        with Writer(folder, load_config(folder)) as writer:
            set_dates(writer.ledger, folder)
    click.echo(f"What is graded already follows with: grader grade {path}")


def _give(folder: ClassFolder, student: str, lesson: str, until: str | None, days: int | None) -> None:
    due = _due(folder).get(lesson)
    if lesson != EVERY and due is None:
        raise GraderError(f"{lesson} has no due date to extend. Set one in {folder.terms_file}, under [due]")
    terms = give_longer(folder.terms_file, student, lesson, until if until is not None else f"{days} days")
    if due is None:
        click.echo(f"{student} has {days} more days for every lesson that is due.")
    else:
        ends = terms.until(student, lesson, due) or due
        click.echo(f"{student} has until {shown(ends, terms.local)} for {lesson}, due {shown(due, terms.local)}.")
        if ends == due:
            click.echo("That is no longer than everyone has.")
    known = {*folder.students(), *read_rows(folder, load_config(folder))[0]}
    if student not in known:
        click.echo(f"Nobody of the name {student!r} is known in this class yet; it counts when they hand something in.")


def _due(folder: ClassFolder) -> dict[str, datetime | None]:
    """When each lesson of the class is due, by class.toml or, where it is silent, by the gradebook."""
    config = load_config(folder)
    url = gradebook_url(folder, config)

    def read() -> dict[str, datetime | None]:
        with open_gradebook(url, course_id(config)) as book:
            return due_dates(book.db, Dates.of(folder))

    return patiently(url, read)


def _take_back(folder: ClassFolder, student: str, lesson: str) -> None:
    terms = read_terms(folder.terms_file)
    if (student, lesson) not in terms.extensions:
        which = "for every lesson" if lesson == EVERY else f"for {lesson}"
        raise GraderError(f"{student} has no extension {which}. Who has one: grader extend {folder.root}")
    take_back(folder.terms_file, student, lesson)
    click.echo(f"{student} has no longer for {'every lesson' if lesson == EVERY else lesson} any more.")


def _list(folder: ClassFolder, student: str | None) -> None:
    terms, dates = read_terms(folder.terms_file), _due(folder)
    table = Table(box=None, pad_edge=False)
    for name in ("student", "lesson", "due", "has until"):
        table.add_column(name, no_wrap=True)
    for (who, lesson), given in sorted(terms.extensions.items(), key=lambda item: item[0]):
        if student not in (None, who):
            continue
        due = dates.get(lesson)
        ends = terms.until(who, lesson, due) if due else None
        until = shown(ends, terms.local) if ends else f"{given} days more" if isinstance(given, int) else "-"
        table.add_row(Text(who), Text(lesson), shown(due, terms.local) if due else "each", until)
    console = Console()
    console = console if console.is_terminal else Console(width=160)
    console.print(table if table.rows else "Nobody has an extension.")


def restore(path: Path, when: str | None) -> None:
    """Bring back a copy of the gradebook, or list the copies."""
    folder = ClassFolder.open(path)
    url = gradebook_url(folder, load_config(folder))
    if when is None:
        known = backup.backups(folder)
        for time, file in known.items():
            click.echo(f"{time}  {file.stat().st_size / 1e6:.1f} MB")
        click.echo(f"To bring one back: grader restore-gradebook {path} TIME" if known else "There is no copy yet.")
        return
    with folder.locked():
        chosen, kept = backup.restore(folder, url, when)
        forget_stamps(folder)
    click.echo(f"The gradebook is that of {chosen} again. The one it replaced is kept: {kept}")
    click.echo(f"What was handed in since is entered by: grader grade {path}")
