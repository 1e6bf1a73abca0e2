"""The oracle of test_writer.py: nbgrader's own converters, one submission at a time, and a dump of what they leave."""

from __future__ import annotations

import copy
import sqlite3
import stat
import warnings
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.preprocessors import Execute
from traitlets.config import Config

from grader.classroom.bulk import Entry
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import class_logger, course


def grade(folder: ClassFolder, config: Config, entry: Entry) -> None:
    """nbgrader's Autograde and GenerateFeedback for one submission. The notebook in submitted/ is replaced by the
    mended one."""
    mended = copy.deepcopy(entry.executed)
    for cell in mended.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(mended, folder.submitted(entry.student, entry.lesson) / f"{entry.lesson}.ipynb")
    with warnings.catch_warnings():  # sqlalchemy's, about nbgrader's own ways
        warnings.simplefilter("ignore")
        _Graded(folder, config, entry).start()
        _Feedback(folder, config, entry).start()


class _Graded(Autograde):  # type: ignore[misc]
    """Autograde that takes outputs made elsewhere instead of executing."""

    def __init__(self, folder: ClassFolder, config: Config, entry: Entry) -> None:
        super().__init__(coursedir=course(folder, config), config=config, log=class_logger(folder))
        self.place, self.entry, self.force = folder.submitted(entry.student, entry.lesson), entry, True
        self.coursedir.assignment_id, self.coursedir.student_id = entry.lesson, entry.student
        steps: list[Any] = list(getattr(self, "autograde_preprocessors"))  # noqa: B009 (traitlets has no types)
        self.autograde_preprocessors = [
            self.attach if isinstance(step, type) and issubclass(step, Execute) else step for step in steps
        ]

    def init_notebooks(self) -> None:
        self.assignments = {str(self.place): [str(self.place / f"{self.entry.lesson}.ipynb")]}

    def attach(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        for cell, run in zip(nb.cells, self.entry.executed.cells, strict=True):
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = copy.deepcopy(run.outputs), run.get("execution_count")
        nb.metadata.update(copy.deepcopy(self.entry.executed.metadata))
        return nb, resources


class _Feedback(GenerateFeedback):  # type: ignore[misc]
    def __init__(self, folder: ClassFolder, config: Config, entry: Entry) -> None:
        super().__init__(coursedir=course(folder, config), config=config, log=class_logger(folder))
        self.done, self.force = folder.autograded(entry.student, entry.lesson), True
        self.coursedir.assignment_id, self.coursedir.student_id = entry.lesson, entry.student

    def init_notebooks(self) -> None:
        self.assignments = {str(self.done.parent): [str(self.done)]}


NAMES = {  # how a row is called, by columns of its own and of rows named before
    "assignment": ("name",),
    "notebook": ("assignment_id", "name"),
    "base_cell": ("notebook_id", "name", "type"),
    "submitted_assignment": ("assignment_id", "student_id"),
    "submitted_notebook": ("assignment_id", "notebook_id"),
}


def dump(gradebook: Path) -> dict[str, list[str]]:
    """All rows of all tables, with names in the place of random ids."""
    base = sqlite3.connect(gradebook)
    base.row_factory = sqlite3.Row
    tables = [row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {table: [dict(row) for row in base.execute(f"SELECT * FROM {table}")] for table in tables}
    base.close()
    called: dict[Any, str] = {}
    for table, columns in NAMES.items():
        for row in rows[table]:
            called[row["id"]] = "/".join(str(called.get(row[column], row[column])) for column in columns)
    for table in ("grade", "comment", "source_cell"):
        for row in rows[table]:
            del row["id"]
    return {
        table: sorted(str({key: called.get(value, value) for key, value in row.items()}) for row in found)
        for table, found in rows.items()
    }


def files(folder: ClassFolder) -> dict[str, tuple[bytes, int]]:
    """Content and permissions of everything in autograded/ and feedback/."""
    found = [p for name in ("autograded", "feedback") for p in (folder.root / name).rglob("*") if p.is_file()]
    return {str(p.relative_to(folder.root)): (p.read_bytes(), stat.S_IMODE(p.stat().st_mode)) for p in found}
