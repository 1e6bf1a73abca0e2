"""The gradebook's rows for a batch of submissions, loaded in a few selects whatever the size of the class.

The columns are asked for in the order of nbgrader's unique indexes: a select by submission alone would read
the grades of the whole class.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    GradeCell,
    Notebook,
    SolutionCell,
    SourceCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from sqlalchemy import func, select
from sqlalchemy.orm import undefer, with_polymorphic

__all__ = ["Batch", "LessonRows", "NotebookRows", "Submission"]


@dataclass
class NotebookRows:
    """A notebook of a lesson as released; cells in the order in which nbgrader finds them."""

    row: Any
    sources: dict[str, Any] = field(default_factory=dict)  # grade_id -> SourceCell
    grade_cells: list[Any] = field(default_factory=list)
    solution_cells: list[Any] = field(default_factory=list)
    task_cells: list[Any] = field(default_factory=list)

    def graded(self) -> dict[str, Any]:
        """The cells with points, by grade_id. Where a name stands for two, nbgrader takes the grade cell."""
        return {cell.name: cell for cell in [*self.task_cells, *self.grade_cells]}

    def commented(self) -> dict[str, Any]:
        """The cells with comments, by grade_id."""
        return {cell.name: cell for cell in [*self.task_cells, *self.solution_cells]}


@dataclass
class LessonRows:
    """A lesson: its assignment and its notebooks by name."""

    assignment: Any
    notebooks: dict[str, NotebookRows] = field(default_factory=dict)


@dataclass
class Submission:
    """What one student handed in for a lesson."""

    row: Any
    notebooks: dict[str, Any] = field(default_factory=dict)  # notebook's name -> SubmittedNotebook
    grades: dict[tuple[str, str], Any] = field(default_factory=dict)  # notebook's name, cell's id -> Grade
    comments: dict[tuple[str, str], Any] = field(default_factory=dict)


class Batch:
    """The rows of some (student, lesson) pairs."""

    def __init__(self, db: Any, pairs: Iterable[tuple[str, str]]) -> None:
        self.db = db
        students, lessons = (sorted(set(names)) for names in zip(*pairs, strict=True))
        self.students = {row.id: row for row in self._rows(Student, Student.id.in_(students))}
        self.lessons = self._load_lessons(lessons)
        self.submissions = self._load_submissions(students)

    def _rows(self, what: Any, *conditions: Any, options: Iterable[Any] = ()) -> list[Any]:
        return list(self.db.scalars(select(what).where(*conditions).options(*options)))

    def _load_lessons(self, names: list[str]) -> dict[str, LessonRows]:
        found = {row.name: LessonRows(row) for row in self._rows(Assignment, Assignment.name.in_(names))}
        by_assignment = {lesson.assignment.id: lesson for lesson in found.values()}
        notebooks = self._rows(Notebook, Notebook.assignment_id.in_(by_assignment))
        by_id = {row.id: NotebookRows(row) for row in sorted(notebooks, key=lambda row: row.name)}
        for rows in by_id.values():
            by_assignment[rows.row.assignment_id].notebooks[rows.row.name] = rows
        for source in self._rows(SourceCell, SourceCell.notebook_id.in_(by_id)):
            by_id[source.notebook_id].sources[source.name] = source
        cells = with_polymorphic(BaseCell, [GradeCell, SolutionCell, TaskCell])
        for cell in self._rows(cells, cells.notebook_id.in_(by_id)):
            rows = by_id[cell.notebook_id]
            kind = {"GradeCell": rows.grade_cells, "SolutionCell": rows.solution_cells, "TaskCell": rows.task_cells}
            kind[cell.type].append(cell)
        return found

    def _load_submissions(self, students: list[str]) -> dict[tuple[str, str], Submission]:
        lessons = {lesson.assignment.id: name for name, lesson in self.lessons.items()}
        notebooks = {n.row.id: n.row.name for lesson in self.lessons.values() for n in lesson.notebooks.values()}
        rows = self._rows(
            SubmittedAssignment,
            SubmittedAssignment.assignment_id.in_(lessons),
            SubmittedAssignment.student_id.in_(students),
        )
        by_id = {row.id: Submission(row) for row in rows}
        inside: dict[str, tuple[Submission, str]] = {}
        for row in self._rows(
            SubmittedNotebook,
            SubmittedNotebook.notebook_id.in_(notebooks),
            SubmittedNotebook.assignment_id.in_(by_id),
            options=[undefer(SubmittedNotebook.max_score)],
        ):
            submission, name = by_id[row.assignment_id], notebooks[row.notebook_id]
            submission.notebooks[name] = row
            inside[row.id] = submission, name
        cells = [cell.id for cell in self._cells()]
        options = [undefer(Grade.max_score)]
        for grade in self._rows(Grade, Grade.cell_id.in_(cells), Grade.notebook_id.in_(inside), options=options):
            submission, name = inside[grade.notebook_id]
            submission.grades[name, grade.cell_id] = grade
        for comment in self._rows(Comment, Comment.cell_id.in_(cells), Comment.notebook_id.in_(inside)):
            submission, name = inside[comment.notebook_id]
            submission.comments[name, comment.cell_id] = comment
        return {(s.row.student_id, lessons[s.row.assignment_id]): s for s in by_id.values()}

    def _cells(self) -> list[Any]:
        notebooks = [notebook for lesson in self.lessons.values() for notebook in lesson.notebooks.values()]
        return [c for n in notebooks for c in [*n.grade_cells, *n.solution_cells, *n.task_cells]]

    def find_or_add(self, student: Any, lesson: str, timestamp: datetime.datetime | None) -> Submission:
        """The submission with its new time, or a new one with a row for every cell, as nbgrader makes it."""
        found = self.submissions.get((student.id, lesson)) or self._add(student, lesson)
        if timestamp is not None:
            found.row.timestamp = timestamp
        return found

    def _add(self, student: Any, lesson: str) -> Submission:
        rows = self.lessons[lesson]
        with self.db.no_autoflush:  # half of it would be written
            made = Submission(SubmittedAssignment(assignment=rows.assignment, student=student))
            for name, notebook in rows.notebooks.items():
                row = SubmittedNotebook(notebook=notebook.row, assignment=made.row)
                made.notebooks[name] = row
                for cell in [*notebook.grade_cells, *notebook.task_cells]:
                    made.grades[name, cell.id] = Grade(cell_id=cell.id, notebook=row)
                for cell in [*notebook.solution_cells, *notebook.task_cells]:
                    made.comments[name, cell.id] = Comment(cell_id=cell.id, notebook=row)
            self.db.add(made.row)
        return made

    def keep(self, submission: Submission, lesson: str) -> None:
        """Know a submission that has been entered, for a second entry of the same student."""
        self.students[submission.row.student_id] = submission.row.student
        self.submissions[submission.row.student_id, lesson] = submission

    def score(self, submission: Submission, notebook: str) -> float:
        """A notebook's points as nbgrader adds them up (SubmittedNotebook.score), from its own rows only."""
        self.db.flush()  # new rows have their ids from here on
        cells = [cell for name, cell in submission.grades if name == notebook]
        total = select(func.coalesce(func.sum(Grade.score), 0.0)).where(
            Grade.cell_id.in_(cells), Grade.notebook_id == submission.notebooks[notebook].id
        )
        return float(self.db.scalar(total))
