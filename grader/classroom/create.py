"""grader new-class: an ordinary nbgrader course folder from the lessons, and its release, made again at
will."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException
from traitlets.config import Config

from grader.classroom.exchange import make_exchange
from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.gradebook import class_logger, course, make_gradebook
from grader.classroom.settings import config_text, find_alembic, load_config, setting
from grader.classroom.students import Entered, Student, enter_students
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


def new_class(
    path: str | os.PathLike[str],
    *,
    lessons: Mapping[str, NotebookNode] | None = None,
    students: list[Student] | None = None,
    exchange: Path | None = None,
) -> NewClass:
    """Make a class in `path`, or refresh the release of the class that is there.

    lessons: instructor notebooks by name; default: those of the course. students: added to the gradebook or updated
    there. exchange: folder of nbgrader's exchange, to make the course's folders in. Submissions, grades, settings and
    sources the instructor has edited stay as they are. GraderError for a folder with other things in it, for a lesson
    that nbgrader does not take (the old release of it stays), and for an exchange that is not safe or not the one in
    the settings.
    """
    find_alembic()
    folder = ClassFolder.create(path)
    existed = folder.is_class()
    with folder.locked():
        if not existed:
            write_atomically(folder.config_file, config_text(folder, exchange))
        folder.secret()
        for name in ("submitted", "release", "source"):
            (folder.root / name).mkdir(exist_ok=True)
        lessons = course_lessons() if lessons is None else lessons
        kept = _write_sources(folder, lessons)
        config = load_config(folder)
        if exchange is not None:
            _make_exchange(folder, config, exchange)
        make_gradebook(folder, config)
        names = sorted(p.parent.name for p in folder.root.glob("source/*/*.ipynb") if p.stem == p.parent.name)
        for name in names:
            _release(folder, config, name)
        entered = enter_students(folder, config, students) if students else None
    return NewClass(folder, names, kept, existed, entered)


def _make_exchange(folder: ClassFolder, config: Config, exchange: Path) -> None:
    root = setting(config, "Exchange", "root", None)
    if root != str(exchange):
        raise GraderError(
            f"{folder.config_file} names {root or 'no folder'} for the exchange, not {exchange}. The file is yours: "
            f"put in c.Exchange.root = {str(exchange)!r}"
        )
    make_exchange(exchange, config.CourseDirectory.course_id)


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
