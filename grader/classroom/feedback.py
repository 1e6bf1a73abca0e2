"""nbgrader's GenerateFeedback with one exporter for the whole run: the same pages and folders, many at a time."""

from __future__ import annotations

import os
import shutil
from typing import Any

from nbconvert.writers.files import FilesWriter
from nbgrader.api import MissingEntry
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader.classroom.bulk import notebook_resources
from grader.classroom.folder import ClassFolder
from grader.classroom.handed_in import ARRIVED
from grader.classroom.ledger import Ledger
from grader.classroom.outcome import Outcome
from grader.classroom.rows import Batch
from grader.classroom.steps import Lent, Steps
from grader.classroom.templates import template
from grader.classroom.trees import Shelf, ordinary_files

__all__ = ["FeedbackPages"]

RELEASED_BY = (ARRIVED, "submission_secret.txt")  # without them `nbgrader release_feedback` stops for the whole class


class FeedbackPages:
    """Makes feedback/STUDENT/LESSON/ from autograded/ and the gradebook."""

    def __init__(self, folder: ClassFolder, coursedir: CourseDirectory, config: Config, ledger: Ledger) -> None:
        self.folder, self.ledger = folder, ledger
        self.shelf = Shelf(folder.root / coursedir.feedback_directory)
        coursedir.feedback_directory = os.path.join(coursedir.feedback_directory, self.shelf.new.name)
        self.coursedir = coursedir
        self.converter = GenerateFeedback(coursedir=coursedir, config=config, log=coursedir.log)
        self.writer = FilesWriter(parent=self.converter, config=self.converter.config)
        exporter_class: Any = self.converter.exporter_class
        self.exporter = exporter_class(parent=self.converter, config=self.converter.config)
        self.exporter.register_preprocessor(
            Steps(self.converter.preprocessors, exporter=self.exporter, ledger=ledger, book=lambda: self.book).run
        )
        self.book: Lent

    def make(self, student: str, lesson: str) -> None:
        """Make the page and its folder on the shelf."""
        graded, place = self.folder.autograded(student, lesson), self.shelf.start(student, lesson)
        for file in ordinary_files(graded.parent, [*self.coursedir.ignore, "*.ipynb"]):
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(graded.parent / file, place / file)
        batch = Batch(self.ledger.db, [(student, lesson)])
        if (student, lesson) not in batch.submissions:
            raise MissingEntry(f"No such submission: {lesson} for {student}")
        self.book = Lent(batch, lesson, batch.submissions[student, lesson], with_score=True)
        page, resources = self.exporter.from_filename(
            str(graded), notebook_resources(self.coursedir, student, lesson, graded.parent)
        )
        self.writer.build_directory = str(place)
        self.writer.write(page, resources, notebook_name=lesson)
        self.converter.set_permissions(lesson, student)

    def refuse(self, outcome: Outcome) -> None:
        """Make the page of what cannot be graded, with the files by which nbgrader finds whose it is."""
        handed_in = self.folder.submitted(outcome.student, outcome.lesson)
        place = self.shelf.start(outcome.student, outcome.lesson)
        for file in ordinary_files(handed_in, []):
            if str(file) in RELEASED_BY:
                shutil.copyfile(handed_in / file, place / file)
        page = template("refusal.html.j2").render(outcome=outcome)
        (place / f"{outcome.lesson}.html").write_text(page, encoding="utf-8")
        self.converter.set_permissions(outcome.lesson, outcome.student)
