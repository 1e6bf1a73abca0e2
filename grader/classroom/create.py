"""grader new-class: an ordinary nbgrader course folder from the lessons, and its release, made again at
will."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from traitlets.config import Config

from grader.classroom.backup import back_up
from grader.classroom.clock import moment, zone
from grader.classroom.dates import set_dates
from grader.classroom.exchange import make_exchange
from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.gradebook import Writer, class_logger, course, make_gradebook
from grader.classroom.settings import config_text, find_alembic, gradebook_url, load_config, setting
from grader.classroom.students import Entered, Student, enter_students
from grader.classroom.terms_file import change_terms, make_terms
from grader.classroom.words import one_of
from grader.errors import GraderError

__all__ = ["NewClass", "new_class"]

SOURCES = "sources.json"  # digests of the sources we wrote: an edited one is the instructor's and is kept


@dataclass(frozen=True)
class NewClass:
    """What new_class did: the lessons released, and lessons whose source the instructor has edited (kept)."""

    folder: ClassFolder
    lessons: list[str]
    kept: list[str] = field(default_factory=list)
    existed: bool = False
    entered: Entered | None = None
    left_out: list[str] = field(default_factory=list)  # lessons of the course that the class has not


def new_class(
    path: str | os.PathLike[str],
    *,
    lessons: Mapping[str, NotebookNode] | None = None,
    chosen: Sequence[str] = (),
    timezone: str | None = None,
    due: Mapping[str, str] | None = None,
    students: list[Student] | None = None,
    exchange: Path | None = None,
) -> NewClass:
    """Make a class in `path`, or refresh the release of the class that is there.

    lessons    instructor notebooks by name; default: those of the course
    chosen     of these, the ones the class is to have, or to have too; default: all, or those it has
    timezone   in which due dates are told; default: this machine's, or what the class has
    due        when lessons are due, in local time; written into class.toml
    students   added to the gradebook or updated there
    exchange   folder of nbgrader's exchange, to make the course's folders in

    Submissions, grades, settings, dates and sources the instructor has edited stay as they are. GraderError for a
    folder with other things in it, for a date that is none, for a lesson that nbgrader does not take (the old release
    of it stays), and for an exchange that is not safe or not the one in the settings.
    """
    find_alembic()
    due = dict(due or {})
    for when in due.values():  # before anything is made
        moment(when, zone(timezone or "UTC"))
    folder = ClassFolder.create(path)
    existed = folder.is_class()
    with folder.locked():
        if not existed:
            write_atomically(folder.config_file, config_text(folder, exchange))
        folder.secret()
        for name in ("submitted", "release", "source"):
            (folder.root / name).mkdir(exist_ok=True)
        config = load_config(folder)
        if exchange is not None:
            _make_exchange(folder, config, exchange)
        lessons, left_out = _chosen(folder, course_lessons() if lessons is None else lessons, chosen)
        back_up(folder, gradebook_url(folder, config))
        kept = _write_sources(folder, lessons)
        make_gradebook(folder, config)
        with Writer(folder, config) as writer:  # nbgrader, which releases, does not wait for another program
            writer.ledger.batch(lambda: None)
        names = sorted(p.parent.name for p in folder.root.glob("source/*/*.ipynb") if p.stem == p.parent.name)
        for name in names:
            _release(folder, config, name)
        _write_terms(folder, names, timezone, due)
        with Writer(folder, config) as writer:
            set_dates(writer.ledger, folder)
        entered = enter_students(folder, config, students) if students else None
    return NewClass(folder, names, kept, existed, entered, left_out)


def _make_exchange(folder: ClassFolder, config: Config, exchange: Path) -> None:
    root = setting(config, "Exchange", "root", None)
    if root != str(exchange):
        raise GraderError(
            f"{folder.config_file} names {root or 'no folder'} for the exchange, not {exchange}. The file is yours: "
            f"put in c.Exchange.root = {str(exchange)!r}"
        )
    make_exchange(exchange, config.CourseDirectory.course_id)


def _chosen(
    folder: ClassFolder, lessons: Mapping[str, NotebookNode], chosen: Sequence[str]
) -> tuple[dict[str, NotebookNode], list[str]]:
    """The lessons that the class has or is to have, and the names of the others."""
    known = set(folder.read_json(SOURCES)) & set(lessons)
    wanted = known | {one_of(word, lessons, "lesson") for word in chosen} or set(lessons)
    return {name: lessons[name] for name in lessons if name in wanted}, sorted(set(lessons) - wanted)


def _write_terms(folder: ClassFolder, lessons: list[str], timezone: str | None, due: Mapping[str, str]) -> None:
    """class.toml: a new one where there is none, else only what was asked for."""
    if not folder.terms_file.exists():
        make_terms(folder.terms_file, lessons, timezone)
    named = {one_of(lesson, lessons, "lesson"): when for lesson, when in due.items()}
    change_terms(folder.terms_file, timezone=timezone, due=named)


def course_lessons() -> dict[str, NotebookNode]:
    """The instructor's notebook of every lesson of the course."""
    from grader.lessons import instructor_notebook, lesson_names, lesson_path

    return {name: instructor_notebook(lesson_path(name)) for name in lesson_names()}


def _write_sources(folder: ClassFolder, lessons: Mapping[str, NotebookNode]) -> list[str]:
    """Write source/, except notebooks edited since we wrote them; returns their names."""
    digests: dict[str, Any] = folder.read_json(SOURCES)
    kept = []
    for name, notebook in lessons.items():
        path, text = folder.source(name), nbformat.writes(notebook) + "\n"
        if path.exists() and _digest(path.read_text(encoding="utf-8")) not in (
            digests.get(name),
            _digest(text),
        ):
            kept.append(name)
            continue
        write_atomically(path, text)
        digests[name] = _digest(text)
    write_atomically(folder.private / SOURCES, json.dumps(digests, indent=1) + "\n")
    return kept


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _release(folder: ClassFolder, config: Config, lesson: str) -> None:
    """Release one lesson through nbgrader. It goes to a side folder first: nbgrader deletes a release that
    fails."""
    side = folder.private / "release"
    shutil.rmtree(side, ignore_errors=True)
    about = course(folder, config)
    about.release_directory, about.assignment_id = str(side.relative_to(folder.root)), lesson
    converter = GenerateAssignment(coursedir=about, config=config, log=class_logger(folder))
    converter.force = True
    try:
        converter.start()
    except NbGraderException as error:
        raise GraderError(
            f"nbgrader does not take lesson {lesson}: {error}. Its release was left as it was. A lesson with "
            f"submissions may not gain or lose graded cells; otherwise see {folder.private / 'nbgrader.log'}"
        ) from None
    _replace(side / lesson, folder.release(lesson).parent)
    shutil.rmtree(side, ignore_errors=True)


def _replace(new: Path, old: Path) -> None:
    shutil.rmtree(old, ignore_errors=True)
    old.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(new, old)
