"""grader export-grades: the class's scores into a file that an LMS imports."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.lms.canvas_grades import fill_canvas
from grader.classroom.lms.fill import Table
from grader.classroom.lms.marks import Marks, read_marks
from grader.classroom.lms.moodle_grades import fill_worksheet, for_moodle
from grader.classroom.lms.plain_grades import plain
from grader.classroom.settings import find_alembic, load_config
from grader.classroom.sheet import sheet_text
from grader.errors import GraderError

__all__ = ["TARGETS", "GivenOut", "give_out"]

TARGETS = ("canvas", "moodle", "csv")
BOM = "\ufeff"  # Excel takes a file for UTF-8 only with it; LMSs do without


@dataclass(frozen=True)
class GivenOut:
    """The file that was written, and what it holds and lacks."""

    path: Path
    table: Table


def give_out(
    path: Path,
    out: Path,
    *,
    target: str,
    lesson: str | None = None,
    template: Path | None = None,
    column: str | None = None,
    scale: bool = False,
) -> GivenOut:
    """Write the scores of the class in `path` to `out`, for one of TARGETS. The class is not changed.

    lesson: this one only. template: what the LMS exported, for Canvas always. column: what the lesson is called
    there. scale: convert scores where the LMS's points differ. GraderError, and nothing written, where it does not fit.
    """
    find_alembic()
    folder = ClassFolder.open(path)
    lessons = _lessons(folder, lesson)
    if template is not None and out.exists() and out.samefile(template):
        raise GraderError(f"{out} is the template; give the result another name: -o FILE")
    if out.is_dir():
        raise GraderError(f"{out} is a folder; give the name of a file: -o FILE")
    marks = read_marks(folder, load_config(folder), lessons)
    table = _table(target, marks, lessons, lesson, template, column, scale=scale)
    try:
        write_atomically(out, (BOM if target == "csv" else "") + sheet_text(table.rows))
    except OSError as error:
        raise GraderError(f"{out} could not be written: {error.strerror}") from None
    return GivenOut(out, table)


def _lessons(folder: ClassFolder, lesson: str | None) -> list[str]:
    lessons = folder.lessons()
    if lesson is None:
        return lessons
    if lesson not in lessons:
        raise GraderError(f"the class has no lesson {lesson!r}. Its lessons: {', '.join(lessons) or 'none'}")
    return [lesson]


def _table(
    target: str,
    marks: Marks,
    lessons: list[str],
    lesson: str | None,
    template: Path | None,
    column: str | None,
    *,
    scale: bool,
) -> Table:
    if column is not None and (lesson is None or template is None):
        raise GraderError("--column names the column of one lesson in a template: give --lesson and --template too")
    if target == "csv" and template is not None:
        raise GraderError("--template is for Canvas and Moodle; a plain CSV needs none")
    if target == "canvas":
        if template is None:
            raise GraderError(
                "Canvas takes scores only beside its own ids: export its gradebook (Grades, Export, Export Entire "
                "Gradebook) and give that file: --template FILE"
            )
        return fill_canvas(template, marks, lessons, column=column, scale=scale)
    if target == "moodle" and template is not None:
        scored = sorted({name for _, name in marks.points})
        if len(lessons) > 1 and len(scored) != 1:
            raise GraderError("a grading worksheet is that of one assignment: say which lesson: --lesson LESSON")
        return fill_worksheet(template, marks, lesson or scored[0], column=column, scale=scale)
    return for_moodle(marks, lessons) if target == "moodle" else plain(marks, lessons)
