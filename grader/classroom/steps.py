"""nbgrader's lists of steps (preprocessors), as the instructor set them, made fit for many submissions.

nbgrader's own steps do their work unchanged, but read and write rows that are loaded already (`Lent`) where
each of them would open the gradebook. Running and mending have been done before. Any other step is run as it
is, on a gradebook in which everything so far has been entered.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbformat import NotebookNode
from nbgrader import preprocessors as stock
from nbgrader import utils
from nbgrader.api import MissingEntry
from nbgrader.preprocessors import getgrades, latesubmissions, overwritecells, overwritekernelspec, saveautogrades
from sqlalchemy.orm.attributes import set_committed_value
from traitlets import HasTraits
from traitlets.utils.importstring import import_item

from grader.classroom import preprocessors
from grader.classroom.ledger import Ledger
from grader.classroom.preprocessors import RepairSubmission
from grader.classroom.rows import Batch, Submission

__all__ = ["Lent", "Resources", "Step", "Steps", "lending"]

Resources = dict[str, Any]
Step = Callable[[NotebookNode, Resources], tuple[NotebookNode, Resources]]

OPENING: tuple[Any, ...] = (
    getgrades,
    latesubmissions,
    overwritecells,
    overwritekernelspec,
    saveautogrades,
    preprocessors,
)
KNOWN = ("nbgrader.preprocessors.", "nbconvert.preprocessors.", "grader.classroom.preprocessors")


class Lent:
    """What nbgrader's steps find where they would open a Gradebook: the rows of one submission, in memory.

    The methods are Gradebook's, with the same exceptions; all ask for the same notebook.
    """

    def __init__(self, batch: Batch, lesson: str, submission: Submission, *, with_score: bool = False) -> None:
        self.with_score = with_score
        self.batch, self.lesson, self.submission = batch, lesson, submission
        self.notebook = batch.lessons[lesson].notebooks[lesson]
        self.graded, self.commented = self.notebook.graded(), self.notebook.commented()
        self.db = self

    def __enter__(self) -> Lent:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def commit(self) -> None:
        """Nothing yet: the batch is entered as a whole."""

    def find_notebook(self, *_: str) -> Any:
        return self.notebook.row

    def find_source_cell(self, name: str, *_: str) -> Any:
        return _find(self.notebook.sources, name, "source cell")

    def find_graded_cell(self, name: str, *_: str) -> Any:
        return _find(self.graded, name, "graded cell")

    def find_submission(self, *_: str) -> Any:
        return self.submission.row

    def find_submission_notebook(self, *_: str) -> Any:
        """Its points are loaded where they are asked for: after a late submission, and for feedback."""
        row = self.submission.notebooks[self.lesson]
        if self.with_score or self.submission.row.total_seconds_late > 0:
            set_committed_value(row, "score", self.batch.score(self.submission, self.lesson))
        return row

    def find_grade(self, name: str, *_: str) -> Any:
        cell = _find(self.graded, name, "grade")
        return _find(self.submission.grades, (self.lesson, cell.id), "grade")

    def find_comment(self, name: str, *_: str) -> Any:
        cell = _find(self.commented, name, "comment")
        return _find(self.submission.comments, (self.lesson, cell.id), "comment")


def _find(rows: dict[Any, Any], key: Any, what: str) -> Any:
    try:
        return rows[key]
    except KeyError:
        raise MissingEntry(f"No such {what}: {key}") from None


@contextmanager
def lending(book: Any) -> Iterator[None]:
    """Inside, nbgrader's own steps and ours that open a gradebook are given `book`."""
    opened: list[Any] = [module.Gradebook for module in OPENING]
    try:
        for module in OPENING:
            module.Gradebook = lambda *_: book
        yield
    finally:
        for module, original in zip(OPENING, opened, strict=True):
            module.Gradebook = original


class Steps:
    """One of nbgrader's lists. `foreign`: whether steps are in it that neither nbgrader nor we have written.

    book: gives the rows of the submission in hand. executed: what stands in the place of nbgrader's Execute.
    """

    def __init__(
        self,
        listed: list[Any],
        *,
        exporter: Any,
        ledger: Ledger,
        book: Callable[[], Lent],
        executed: Step | None = None,
    ) -> None:
        self.exporter, self.ledger, self.book, self.executed = exporter, ledger, book, executed
        self.foreign = False
        self.steps = [self._ready(import_item(step) if isinstance(step, str) else step) for step in listed]

    def run(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        """The notebook and resources after all steps."""
        for step in self.steps:
            nb, resources = step(nb, resources)
        return nb, resources

    def _ready(self, step: Any) -> Step:
        if _is(step, RepairSubmission):
            return _nothing
        if _is(step, stock.Execute) and self.executed is not None:
            return self.executed
        if step is stock.CheckCellMetadata:
            return CheckOnce(parent=self.exporter)
        if _known(step):
            return self._on_loaded_rows(step(parent=self.exporter))
        self.foreign = True
        return self._as_it_is(step)

    def _on_loaded_rows(self, step: Step) -> Step:
        def run(nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
            with lending(self.book()):
                return step(nb, resources)

        return run

    def _as_it_is(self, step: Any) -> Step:
        """Made anew for every notebook, and run in the class folder, as nbgrader does it."""

        def run(nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
            made = step
            if isinstance(step, type):
                made = step(parent=self.exporter) if issubclass(step, HasTraits) else step()
            with self.ledger.handed_over(), utils.chdir(self.exporter.parent.coursedir.root):
                result: tuple[NotebookNode, Resources] = made(nb, resources)
            return result

        return run


class CheckOnce(stock.CheckCellMetadata):  # type: ignore[misc]
    """nbgrader's check of its cells' metadata, which is the same in all mended notebooks of a lesson."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.passed: set[str] = set()

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        told = json.dumps([[cell.cell_type, cell.metadata.get("nbgrader")] for cell in nb.cells])
        if told not in self.passed:
            super().preprocess(nb, resources)
            self.passed = {told}  # the lesson in hand is enough
        return nb, resources


def _nothing(nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
    """What the step does has been done before."""
    return nb, resources


def _is(step: Any, kind: type) -> bool:
    return isinstance(step, type) and issubclass(step, kind)


def _known(step: Any) -> bool:
    """nbgrader's, nbconvert's and our own steps; SaveCells writes the lesson itself, which is not lent."""
    return isinstance(step, type) and step.__module__.startswith(KNOWN) and not _is(step, stock.SaveCells)
