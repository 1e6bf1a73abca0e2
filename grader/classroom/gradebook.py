"""The one writer of a class's results, and what its gradebook says."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Student
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import chdir
from sqlalchemy import select
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from grader.classroom.backup import NoBackup, back_up
from grader.classroom.bulk import Autograding, Entry
from grader.classroom.feedback import FeedbackPages
from grader.classroom.folder import ClassFolder
from grader.classroom.ledger import Ledger, open_gradebook, patiently
from grader.classroom.outcome import Outcome
from grader.classroom.rows import Batch
from grader.classroom.settings import gradebook_url

__all__ = ["Entry", "Row", "Writer", "class_logger", "course", "course_id", "make_gradebook", "read_rows"]


class Writer:
    """Writes graded submissions into the gradebook, autograded/ and feedback/, one batch at a time.

    Use it as a context manager, or close it: it holds the gradebook open.
    """

    def __init__(self, folder: ClassFolder, config: Config) -> None:
        self.folder, self.log = folder, class_logger(folder)
        url = gradebook_url(folder, config)
        self.ledger = Ledger(url, course_id(config), before_change=lambda: back_up(folder, url))
        self.autograding = Autograding(folder, course(folder, config), config, self.ledger)
        self.pages = FeedbackPages(folder, course(folder, config), config, self.ledger)
        for shelf in (self.autograding.shelf, self.pages.shelf):
            shelf.restore()

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the gradebook."""
        self.ledger.close()
        for shelf in (self.autograding.shelf, self.pages.shelf):
            shelf.clear()

    def save(self, entries: Sequence[Entry]) -> list[Exception | None]:
        """Enter the scores of all `entries` at once, and put their folders in place. Manual scores and comments stay.

        Returns what went wrong with each entry, None where nothing did; such an entry leaves everything as it
        was and costs no other. Nothing is entered, and it raises, when another program keeps the gradebook
        (GraderError) or the database itself fails (sqlalchemy's OperationalError: a full disk, say).
        """
        if not entries:
            return []
        for entry in entries:
            _call_hook(self.autograding.converter, "pre", entry.student, entry.lesson)
        problems = self.ledger.batch(lambda: self._enter(entries))
        last = {(entry.student, entry.lesson): number for number, entry in enumerate(entries)}
        for number in last.values():
            if problems[number] is None and not self._excluded(entries[number].student):
                problems[number] = self._put_in_place(entries[number])
        return problems

    def _enter(self, entries: Sequence[Entry]) -> list[Exception | None]:
        """The rows of a batch, and its folders beside the old ones."""
        batch = Batch(self.ledger.db, [(entry.student, entry.lesson) for entry in entries])
        return [None if self._excluded(entry.student) else self._enter_one(entry, batch) for entry in entries]

    def _enter_one(self, entry: Entry, batch: Batch) -> Exception | None:
        try:
            with self.ledger.alone():
                self.autograding.enter(entry, batch)
        except (OperationalError, NoBackup):
            raise  # not this entry's fault: all of the batch is concerned
        except Exception as error:
            return error
        return None

    def _put_in_place(self, entry: Entry) -> Exception | None:
        try:
            self.autograding.shelf.finish(entry.student, entry.lesson)
        except OSError as error:
            return error
        _call_hook(self.autograding.converter, "post", entry.student, entry.lesson)
        return None

    def feedback(self, student: str, lesson: str) -> None:
        """Write the feedback page from autograded/ and the gradebook; the old one stays when that fails."""
        if self._excluded(student):
            return
        _call_hook(self.pages.converter, "pre", student, lesson)
        self.ledger.batch(lambda: self._make_page(student, lesson))
        self.pages.shelf.finish(student, lesson)
        _call_hook(self.pages.converter, "post", student, lesson)

    def _make_page(self, student: str, lesson: str) -> None:
        with self.ledger.alone():
            self.pages.make(student, lesson)

    def refuse(self, outcome: Outcome) -> None:
        """Write the page of a submission that cannot be graded."""
        self.pages.refuse(outcome)
        self.pages.shelf.finish(outcome.student, outcome.lesson)

    def enrol(self, students: list[str]) -> None:
        """Make students known who have nothing gradable yet, so that nbgrader's lists show them too."""

        def add() -> None:
            known = set(self.ledger.db.scalars(select(Student.id)))
            self.ledger.db.add_all(Student(id=student) for student in sorted(set(students) - known))

        self.ledger.batch(add)

    def _excluded(self, student: str) -> bool:
        """Students whom the class's settings leave out, as nbgrader does."""
        return student in self.autograding.coursedir.student_id_exclude.split(",")


def _call_hook(converter: Any, when: str, student: str, lesson: str) -> None:
    """Call the class's pre_convert_hook or post_convert_hook as nbgrader does: in the class folder."""
    if getattr(converter, f"{when}_convert_hook"):
        about = converter.coursedir
        about.assignment_id, about.student_id = lesson, student
        converter.notebooks = [os.path.join(converter._format_source(lesson, student), f"{lesson}.ipynb")]
        with chdir(about.root):
            getattr(converter, f"run_{when}_convert_hook")()


def make_gradebook(folder: ClassFolder, config: Config) -> None:
    """Make the gradebook with nbgrader's tables, unless it is there."""
    open_gradebook(gradebook_url(folder, config), course_id(config)).close()


def course(folder: ClassFolder, config: Config) -> CourseDirectory:
    """nbgrader's view of the class folder."""
    return CourseDirectory(root=str(folder.root), config=config, log=class_logger(folder))


def course_id(config: Config) -> str:
    return str(config.CourseDirectory.get("course_id", "") or "default_course")


@dataclass(frozen=True)
class Row:
    """What the gradebook says about one submission: points with manual ones, and after any penalty for
    lateness."""

    points: float
    out_of: float
    by_hand: bool


def read_rows(folder: ClassFolder, config: Config) -> tuple[list[str], dict[tuple[str, str], Row]]:
    """All students the gradebook knows, and the points of each submission by (student, lesson)."""
    url = gradebook_url(folder, config)
    return patiently(url, lambda: _rows(url, course_id(config)))


def _rows(url: str, course: str) -> tuple[list[str], dict[tuple[str, str], Row]]:
    rows: dict[tuple[str, str], Row] = {}
    with open_gradebook(url, course) as gradebook:
        students = [student.id for student in gradebook.students]
        for assignment in gradebook.assignments:
            for submission in assignment.submissions:
                if any(notebook.grades for notebook in submission.notebooks):
                    penalty = submission.late_submission_penalty or 0.0
                    by_hand = any(g.manual_score is not None for n in submission.notebooks for g in n.grades)
                    points = max(0.0, submission.score - penalty)
                    rows[submission.student_id, assignment.name] = Row(points, submission.max_score, by_hand)
    return students, rows


def class_logger(folder: ClassFolder) -> logging.Logger:
    """nbgrader's own messages go to a file in the class folder, not to the terminal."""
    log = logging.getLogger(f"grader.class.{folder.root}")
    if not log.handlers:
        folder.private.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(folder.private / "nbgrader.log", encoding="utf-8", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        log.addHandler(handler)
        log.propagate = False
        log.setLevel(logging.INFO)
    return log
