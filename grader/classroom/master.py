"""A lesson as grading needs it: the released cells in order, the graded ones with their hidden tests back in.

The hidden sources come from the gradebook, where nbgrader put them when the lesson was released: the same
that its own commands use, so both ways of grading run the same code.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.api import MissingEntry

from grader.classroom.folder import ClassFolder
from grader.classroom.ledger import open_gradebook, patiently
from grader.errors import GraderError
from grader.outline import outlines

__all__ = ["Master", "grade_id", "is_test", "load_master"]


@dataclass(frozen=True)
class Master:
    """One lesson. `notebook` has the full test cells; `released` is what students were given, by grade_id."""

    lesson: str
    notebook: NotebookNode
    released: dict[str, str]

    @cached_property
    def cells(self) -> dict[str, NotebookNode]:
        """The cells nbgrader knows (solutions, tests, locked ones), by grade_id, in the order of the
        lesson."""
        return {grade_id(cell): cell for cell in self.notebook.cells if grade_id(cell)}

    @property
    def points(self) -> dict[str, float]:
        """The points of each test cell, by grade_id."""
        return {name: float(cell.metadata.nbgrader.points) for name, cell in self.cells.items() if is_test(cell)}

    @property
    def out_of(self) -> float:
        return sum(self.points.values())

    def solution_of(self, test: str) -> str | None:
        """The grade_id of the solution cell that a test cell belongs to: the last one before it."""
        last = None
        for name, cell in self.cells.items():
            if name == test:
                return last
            if cell.metadata.nbgrader.get("solution"):
                last = name
        return None

    def version(self, secret: str) -> str:
        """The version of the test set: other tests, points, seeds or grading code make another one."""
        told: list[Any] = [[n, c.source, c.metadata.nbgrader.get("points")] for n, c in self.cells.items()]
        text = json.dumps([told, secret, _grading_code(self.cells.values())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def grade_id(cell: NotebookNode) -> str:
    """The cell's nbgrader id, "" for a cell without one or with a damaged one."""
    about = cell.get("metadata", {}).get("nbgrader")
    name = about.get("grade_id") if isinstance(about, dict) else None
    return name if isinstance(name, str) else ""


def is_test(cell: NotebookNode) -> bool:
    return bool(cell.metadata.nbgrader.get("grade"))


def load_master(folder: ClassFolder, lesson: str, url: str | None = None) -> Master:
    """The lesson as released. GraderError when the release or its entry in the gradebook is missing.

    url: where the gradebook is; None: gradebook.db.
    """
    path = folder.release(lesson)
    if not path.is_file():
        known = ", ".join(folder.lessons()) or "none"
        raise GraderError(f"the class has no lesson {lesson!r}. Its lessons: {known}")
    return _merged(lesson, path, url or folder.gradebook_url, folder.root)


def _merged(lesson: str, path: Path, url: str, root: Path) -> Master:
    notebook = nbformat.read(path, as_version=4)
    released = {grade_id(cell): cell.source for cell in notebook.cells if grade_id(cell)}
    try:
        known = patiently(url, lambda: _sources(url, lesson))
    except MissingEntry:
        raise GraderError(
            f"lesson {lesson} is released but the gradebook does not know it. Release it again: grader new-class {root}"
        ) from None
    for cell in notebook.cells:
        if grade_id(cell) in known:
            cell.source, cell.metadata.nbgrader.checksum = known[grade_id(cell)]
    return Master(lesson, notebook, released)


def _sources(url: str, lesson: str) -> dict[str, tuple[str, str]]:
    """Text and checksum of a lesson's cells in the gradebook, by grade_id."""
    with open_gradebook(url) as gradebook:
        cells = gradebook.find_notebook(lesson, lesson).source_cells
        return {cell.name: (cell.source, cell.checksum) for cell in cells}


_NO_VERDICT = (
    "attacks",
    "cli.py",
    "corpus",
    "exercises",
    "learning",
    "lessons",
    "listing.py",
    "loading.py",
    "matrix",
    "outline.py",
)


def _grading_code(cells: Iterable[NotebookNode]) -> str:
    """A digest of the code that makes the verdicts of a lesson's test cells: a changed check is a changed test set.

    Of the exercises those of the lessons that the cells name; of all, where one is not known.
    """
    named = {id for cell in cells if is_test(cell) for id in re.findall(r"""\bgrade\(\s*["'](\w+)""", cell.source)}
    known, files = outlines(), _exercise_files()
    lessons = {known[id].lesson.partition("_")[2] if id in known else "" for id in named}
    return _digest_of(tuple(sorted(lessons if lessons <= set(files) else files)))


@lru_cache
def _digest_of(lessons: tuple[str, ...]) -> str:
    package = Path(__file__).parent.parent
    files = [f for f in package.rglob("*.py") if f.relative_to(package).parts[0] not in _NO_VERDICT]
    files += [file for name in lessons for file in _exercise_files()[name]]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@lru_cache
def _exercise_files() -> dict[str, list[Path]]:
    """The files of each lesson's exercises, by its module's name."""
    files: dict[str, list[Path]] = {}
    place = Path(__file__).parent.parent / "exercises"
    for file in sorted(place.rglob("*.py")):
        files.setdefault(file.relative_to(place).parts[0].removesuffix(".py"), []).append(file)
    return files
