"""nbgrader's Autograde for notebooks that have been run: the same rows and files, a whole batch at a time."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters.exporter import ResourcesDict
from nbconvert.writers.files import FilesWriter
from nbformat import NotebookNode
from nbgrader import utils
from nbgrader.api import Student
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader.classroom.folder import ClassFolder
from grader.classroom.handed_in import when
from grader.classroom.ledger import Ledger
from grader.classroom.rows import Batch, Submission
from grader.classroom.steps import Lent, Resources, Steps
from grader.classroom.trees import Shelf, ordinary_files

__all__ = ["Autograding", "Entry", "notebook_resources"]

KILOBYTE = 1000  # CourseDirectory.max_file_size counts in these


@dataclass(frozen=True)
class Entry:
    """A submission that has been run, ready to be entered.

    executed: the mended notebook with the outputs of the run; every test cell has its score or an error.
    doubtful: grade_ids of test cells that a person should look at; the formgrader lists them.
    """

    student: str
    lesson: str
    executed: NotebookNode
    doubtful: list[str]


class Autograding:
    """Enters submissions into the rows of a batch and makes their autograded/ folders on the shelf."""

    def __init__(self, folder: ClassFolder, coursedir: CourseDirectory, config: Config, ledger: Ledger) -> None:
        self.folder, self.ledger = folder, ledger
        self.shelf = Shelf(folder.root / coursedir.autograded_directory)
        coursedir.autograded_directory = os.path.join(coursedir.autograded_directory, self.shelf.new.name)
        self.converter = Autograde(coursedir=coursedir, config=config, log=coursedir.log)
        self.coursedir, self.log = coursedir, coursedir.log
        self.writer = FilesWriter(parent=self.converter, config=self.converter.config)
        exporter = self.converter.exporter_class(parent=self.converter, config=self.converter.config)
        ready = partial(Steps, exporter=exporter, ledger=ledger, book=lambda: self.book)
        self.sanitizing = ready(self.converter.sanitize_preprocessors)
        self.grading = ready(self.converter.autograde_preprocessors, executed=self._attach)
        self.book: Lent
        self.executed: NotebookNode

    def enter(self, entry: Entry, batch: Batch) -> None:
        """Change the rows and make the folder of one submission, all of it as nbgrader does.

        NbGraderException and whatever the steps raise when it cannot be entered.
        """
        student, lesson = entry.student, entry.lesson
        place = self.shelf.start(student, lesson)
        self._copy_files(student, lesson, place)
        submission = self._submission(student, lesson, batch)
        before = _by_hand(submission)
        self.book, self.executed = Lent(batch, lesson, submission), entry.executed
        self._convert(student, lesson, place)
        _settle_by_hand(submission, before, set(entry.doubtful))
        self.converter.set_permissions(lesson, student)
        batch.db.flush()
        batch.keep(submission, lesson)

    def _copy_files(self, student: str, lesson: str, place: Path) -> None:
        """The files beside the notebook: the instructor's, and of the student's those that are not in their way."""
        ignore = [*self.coursedir.ignore, "*.ipynb"]
        theirs, ours = self.folder.submitted(student, lesson), self.folder.source(lesson).parent
        kept = set(map(Path, self.converter.exclude_overwriting.get(lesson, [])))
        _copy((f for f in ordinary_files(ours, ignore, links=True) if f not in kept), ours, place)
        limit = self.coursedir.max_file_size * KILOBYTE
        for file in ordinary_files(theirs, ignore):
            if (theirs / file).stat().st_size > limit:
                self.log.warning("%s, %s: %s is too large and was left out (max_file_size)", student, lesson, file)
            elif not _in_the_way(place, file):
                _copy([file], theirs, place)

    def _submission(self, student: str, lesson: str, batch: Batch) -> Submission:
        """The submission's rows, made where there are none, with the time of handing in."""
        if lesson not in batch.lessons:
            raise NbGraderException(f"No assignment with ID '{lesson}' exists in the database")
        if lesson not in batch.lessons[lesson].notebooks:
            raise NbGraderException("No notebooks found, did you forget to run 'nbgrader generate_assignment'?")
        arrived, _ = when(self.folder.submitted(student, lesson))
        submission = batch.find_or_add(self._student(student, batch), lesson, arrived)
        for name in batch.lessons[lesson].notebooks:
            if name != lesson and not (self.folder.submitted(student, lesson) / f"{name}.ipynb").exists():
                for grade in (row for (notebook, _), row in submission.grades.items() if notebook == name):
                    grade.auto_score, grade.needs_manual_grade = 0, False
        return submission

    def _student(self, name: str, batch: Batch) -> Any:
        if name in batch.students:
            return batch.students[name]
        if not self.converter.create_student:
            raise NbGraderException(f"No student with ID '{name}' exists in the database")
        student = Student(id=name)
        batch.db.add(student)
        return student

    def _convert(self, student: str, lesson: str, place: Path) -> None:
        """nbgrader's two passes: put the instructor's cells back, then score."""
        file = place / f"{lesson}.ipynb"
        resources = notebook_resources(self.coursedir, student, lesson, self.folder.submitted(student, lesson))
        nb, _ = self.sanitizing.run(_unrun(self.executed), resources)
        if self.grading.foreign:  # they may look for it
            file.write_text(_text(nb), encoding="utf-8")
        with utils.setenv(NBGRADER_EXECUTION="autograde"):
            nb, resources = self.grading.run(nb, notebook_resources(self.coursedir, student, lesson, place))
        nbformat.validate(nb, relax_add_props=True)
        self.writer.build_directory = str(place)
        self.writer.write(_text(nb), resources, notebook_name=lesson)

    def _attach(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """In the place of Execute: the outputs of the run. Refuses when other cells were run than will be scored."""
        if [c.source for c in nb.cells] != [c.source for c in self.executed.cells]:
            raise NbGraderException("the lesson in the gradebook changed while it was being graded")
        for cell, run in zip(nb.cells, self.executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = copy.deepcopy(run.outputs), run.get("execution_count")
        nb.metadata.update(copy.deepcopy(self.executed.metadata))
        return nb, resources


def notebook_resources(coursedir: CourseDirectory, student: str, lesson: str, place: Path) -> Resources:
    """What nbgrader tells its steps about a notebook, which lies in the folder `place`."""
    about = {"student": student, "assignment": lesson, "notebook": lesson, "db_url": coursedir.db_url}
    return ResourcesDict(
        unique_key=lesson,
        output_files_dir=f"{lesson}_files",
        output_extension=".ipynb",
        nbgrader=about,
        metadata=ResourcesDict(name=lesson, path=str(place)),
    )


def _text(nb: NotebookNode) -> str:
    return str(nbformat.v4.writes(nb)) + "\n"


def _unrun(notebook: NotebookNode) -> NotebookNode:
    """A copy without outputs."""
    emptied: dict[str, Any] = {"outputs": [], "execution_count": None}
    cells = [{**cell, **emptied} if cell.cell_type == "code" else cell for cell in notebook.cells]
    made: NotebookNode = nbformat.from_dict({**notebook, "cells": cells})
    return made


def _copy(files: Iterable[Path], source: Path, target: Path) -> None:
    for file in files:
        (target / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target / file)


def _in_the_way(place: Path, file: Path) -> bool:
    """Whether something lies where `file` would go: the same file, or a file where it has a folder."""
    return os.path.lexists(place / file) or any((place / above).is_file() for above in file.parents)


def _by_hand(submission: Submission) -> dict[Any, tuple[float | None, bool]]:
    """Automatic score and to-do mark of the test cells that a person has scored."""
    rows = submission.grades.items()
    return {key: (g.auto_score, g.needs_manual_grade) for key, g in rows if g.manual_score is not None}


def _settle_by_hand(
    submission: Submission, before: dict[Any, tuple[float | None, bool]], doubtful: set[str]
) -> None:
    """nbgrader asks for every manual score again after a regrade: ask only where the automatic one changed."""
    for key, grade in submission.grades.items():
        if key in before and before[key][0] == grade.auto_score:
            grade.needs_manual_grade = before[key][1]
        elif grade.manual_score is None and grade.name in doubtful:
            grade.needs_manual_grade = True
