"""The scores of the class as they go out: after any penalty for lateness, with who has none."""

from __future__ import annotations

from dataclasses import dataclass

from traitlets.config import Config

from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import read_rows
from grader.classroom.students import Student, known_students

__all__ = ["Marks", "read_marks"]


@dataclass(frozen=True)
class Marks:
    """points: by (student, lesson), where the gradebook has a score. out_of: by lesson."""

    students: dict[str, Student]
    points: dict[tuple[str, str], float]
    out_of: dict[str, float]

    def has(self, student: str) -> bool:
        return any(name == student for name, _ in self.points)


def read_marks(folder: ClassFolder, config: Config, lessons: list[str]) -> Marks:
    """The marks of `lessons`, as the gradebook has them: with scores by hand, after penalties, never below 0."""
    _, rows = read_rows(folder, config)
    found = {(student, lesson): row for (student, lesson), row in rows.items() if lesson in lessons}
    out_of = {lesson: row.out_of for (_, lesson), row in found.items()}
    students = {student.id: student for student in known_students(folder, config)}
    return Marks(students, {key: row.points for key, row in found.items()}, out_of)
