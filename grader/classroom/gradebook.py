"""The one writer: nbgrader's own converters, called in this process for one submission at a time."""

from __future__ import annotations

import copy
import logging
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alembic.script import ScriptDirectory
from nbformat import NotebookNode
from nbgrader import api
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute
from traitlets.config import Config

from grader.classroom.folder import ClassFolder

__all__ = ["Entry", "Row", "Writer", "class_logger", "course", "make_gradebook", "read_rows"]

RETRIES = 3  # the formgrader may hold the database for a moment


@dataclass(frozen=True)
class Entry:
    student: str
    lesson: str
    executed: NotebookNode
    doubtful: list[str]


class Writer:
    """Writes graded submissions into the gradebook, autograded/ and feedback/."""

    def __init__(self, folder: ClassFolder, config: Config) -> None:
        self.folder, self.config, self.log = folder, config, class_logger(folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def save(self, entries):
        import shutil

        import nbformat
        found = []
        for e in entries:
            t = self.folder.staged(e.student, e.lesson)
            shutil.rmtree(t, ignore_errors=True)
            shutil.copytree(self.folder.submitted(e.student, e.lesson), t, symlinks=True, ignore=shutil.ignore_patterns("*.ipynb"))
            nbformat.write(e.executed, t / f"{e.lesson}.ipynb")
            try:
                self.save1(e.student, e.lesson, e.executed, e.doubtful)
                found.append(None)
            except Exception as x:
                found.append(x)
        return found

    def save1(self, student: str, lesson: str, executed: NotebookNode, doubtful: list[str]) -> None:
        """Enter the scores of `executed`, then write the feedback. Manual scores and comments are kept.

        doubtful: grade_ids of test cells that a person should look at; the formgrader lists them.
        Raises NbGraderException when nbgrader could not take it; the gradebook is then as it was for other
        students.
        """
        before = self._manual(student, lesson)
        self._retried(_Staged(self.folder, self.config, self.log, student, lesson, executed))
        self._settle_manual(student, lesson, before, doubtful)
        self.feedback(student, lesson)

    def feedback(self, student: str, lesson: str) -> None:
        """Write the feedback page from autograded/ and the gradebook."""
        self._retried(_Feedback(self.folder, self.config, self.log, student, lesson))

    def enrol(self, students: list[str]) -> None:
        """Make students known who have nothing gradable yet, so that nbgrader's lists show them too."""
        with Gradebook(self.folder.gradebook_url, course_id(self.config)) as gradebook:
            for student in set(students) - {known.id for known in gradebook.students}:
                gradebook.add_student(student)

    def _retried(self, converter: Any) -> None:
        for attempt in range(RETRIES):
            try:
                with warnings.catch_warnings():  # sqlalchemy's, about nbgrader's own ways
                    warnings.simplefilter("ignore")
                    converter.start()
                    return
            except NbGraderException:
                if attempt == RETRIES - 1:
                    raise
                time.sleep(0.5 * 4**attempt)

    def _manual(self, student: str, lesson: str) -> dict[str, tuple[float | None, bool]]:
        """Automatic score and to-do mark of the test cells that a person has scored."""
        with Gradebook(self.folder.gradebook_url, course_id(self.config)) as gradebook:
            try:
                grades = gradebook.find_submission_notebook(lesson, lesson, student).grades
            except MissingEntry:
                return {}
            return {g.name: (g.auto_score, g.needs_manual_grade) for g in grades if g.manual_score is not None}

    def _settle_manual(
        self, student: str, lesson: str, before: dict[str, tuple[float | None, bool]], doubtful: list[str]
    ) -> None:
        """nbgrader asks for every manual score again after a regrade: ask only where the automatic one
        changed."""
        if not before and not doubtful:
            return
        with Gradebook(self.folder.gradebook_url, course_id(self.config)) as gradebook:
            for grade in gradebook.find_submission_notebook(lesson, lesson, student).grades:
                if grade.name in before and before[grade.name][0] == grade.auto_score:
                    grade.needs_manual_grade = before[grade.name][1]
                elif grade.name in doubtful and grade.manual_score is None:
                    grade.needs_manual_grade = True
            gradebook.db.commit()


class _Staged(Autograde):  # type: ignore[misc]
    """nbgrader's Autograde on the staged copy, taking outputs that were made elsewhere instead of
    executing."""

    def __init__(
        self,
        folder: ClassFolder,
        config: Config,
        log: logging.Logger,
        student: str,
        lesson: str,
        executed: NotebookNode,
    ) -> None:
        super().__init__(coursedir=course(folder, config), config=config, log=log)
        self.coursedir.submitted_directory = str(folder.staged("x", "y").parent.parent.relative_to(folder.root))
        self.coursedir.assignment_id, self.coursedir.student_id = lesson, student
        self.staged = folder.staged(student, lesson) / f"{lesson}.ipynb"
        self.executed, self.force = executed, True
        steps: list[Any] = list(getattr(self, "autograde_preprocessors"))  # noqa: B009 (traitlets has no types)
        self.autograde_preprocessors = [self._attach if _executes(step) else step for step in steps]

    def init_notebooks(self) -> None:
        """Exactly this submission: names with glob characters in them are no patterns."""
        self.assignments = {str(self.staged.parent): [str(self.staged)]}

    def _attach(self, nb: NotebookNode, resources: dict[str, Any]) -> tuple[NotebookNode, dict[str, Any]]:
        """Stands in the place of Execute. Refuses when what was run is not what nbgrader is about to
        score."""
        if [c.source for c in nb.cells] != [c.source for c in self.executed.cells]:
            raise NbGraderException("the lesson in the gradebook changed while it was being graded")
        for cell, run in zip(nb.cells, self.executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = copy.deepcopy(run.outputs), run.get("execution_count")
        nb.metadata.update(copy.deepcopy(self.executed.metadata))
        return nb, resources


class _Feedback(GenerateFeedback):  # type: ignore[misc]
    """nbgrader's GenerateFeedback for exactly one submission."""

    def __init__(self, folder: ClassFolder, config: Config, log: logging.Logger, student: str, lesson: str) -> None:
        super().__init__(coursedir=course(folder, config), config=config, log=log)
        self.coursedir.assignment_id, self.coursedir.student_id = lesson, student
        self.done, self.force = folder.autograded(student, lesson), True

    def init_notebooks(self) -> None:
        self.assignments = {str(self.done.parent): [str(self.done)]}


def make_gradebook(folder: ClassFolder, config: Config) -> None:
    """Make gradebook.db with nbgrader's tables, unless it is there.

    nbgrader would start the command `alembic` to learn the version of the tables, which takes seconds and
    fails where the command is not on PATH; the library tells the same at once.
    """
    if folder.gradebook.exists():
        return
    asked = api.get_alembic_version
    scripts = ScriptDirectory(str(Path(api.__file__).parent / "alembic"))
    api.get_alembic_version = lambda: str(scripts.get_current_head())
    try:
        Gradebook(folder.gradebook_url, course_id(config)).close()
    finally:
        api.get_alembic_version = asked


def _executes(step: Any) -> bool:
    return isinstance(step, type) and issubclass(step, Execute)


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
    rows: dict[tuple[str, str], Row] = {}
    with Gradebook(folder.gradebook_url, course_id(config)) as gradebook:
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
