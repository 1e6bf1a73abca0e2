"""nbgrader's GenerateFeedback with one exporter for the whole run: the same pages, without compiling it each time."""

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
from grader.classroom.ledger import Ledger
from grader.classroom.quick_html import QuickHTML, draws_as_usual
from grader.classroom.rows import Batch
from grader.classroom.steps import Lent, Steps
from grader.classroom.trees import Shelf, ordinary_files

__all__ = ["FeedbackPages"]


class FeedbackPages:
    """Makes feedback/STUDENT/LESSON/ from autograded/ and the gradebook."""

    def __init__(self, folder: ClassFolder, coursedir: CourseDirectory, config: Config, ledger: Ledger) -> None:
        self.folder, self.ledger = folder, ledger
        self.shelf = Shelf(folder.root / coursedir.feedback_directory)
        coursedir.feedback_directory = os.path.join(coursedir.feedback_directory, self.shelf.new.name)
        self.coursedir = coursedir
        self.converter = GenerateFeedback(coursedir=coursedir, config=config, log=coursedir.log)
        self.writer = FilesWriter(parent=self.converter, config=self.converter.config)
        usual = draws_as_usual(self.converter.exporter_class, config)
        exporter_class: Any = QuickHTML if usual else self.converter.exporter_class
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
