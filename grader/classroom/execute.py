"""Runs a lesson where no submission can touch what grades it, and puts what was found into the notebook.

`ExecuteLesson` stands where nbgrader's Execute stands (`c.Autograde.autograde_preprocessors`), so the formgrader's
button and `nbgrader autograde` take the same path as `grader grade`: the submission's cells run in a sandboxed process,
the test cells in a trusted one, against proxies of its names.
"""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, from_dict
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Integer, Unicode
from traitlets.config import Config

from grader.classroom.handed_in import MEGABYTE
from grader.classroom.master import grade_id
from grader.errors import GraderError
from grader.grading.work import CodeCell, Graded, Sandbox, Work
from grader.grading.worker import grade_one

__all__ = ["ExecuteLesson", "configured", "files_beside", "finished"]


class ExecuteLesson(Execute):  # type: ignore[misc]
    """Runs every code cell, whatever the others do. A test cell ends in its score, or in an error that says why not."""

    timeout = Integer(30, help="Seconds of processor time a cell may take.").tag(config=True)
    submission_timeout = Integer(300, help="Seconds a whole submission may take.").tag(config=True)
    max_output_bytes = Integer(100_000, help="Characters a cell may print; the rest is dropped.").tag(config=True)
    max_restarts = Integer(8, help="How many processes a submission may lose before the rest is not run.").tag(
        config=True
    )
    max_files_megabytes = Integer(50, help="What is handed in beside the notebook is left out beyond this.").tag(
        config=True
    )
    unsafe = Bool(False, help="Run submissions with your own rights where there is no sandbox.").tag(config=True)
    secret_file = Unicode("", help="File with the class's secret, for the hidden tests' seeds.").tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any], km: Any = None
    ) -> tuple[NotebookNode, dict[str, Any]]:
        """Run `nb`; files beside it are those in `resources["metadata"]["path"]`.

        GraderError where the machine has no sandbox and `unsafe` is not set.
        """
        files = files_beside([Path(resources["metadata"]["path"])], self.max_files_megabytes)
        return finished(nb, grade_one(self.work(nb, files), Sandbox(unsafe=self.unsafe))), resources

    def work(self, nb: NotebookNode, files: dict[str, bytes], key: str = "") -> Work:
        """What there is to do for a notebook."""
        secret = Path(self.secret_file)
        return Work(
            key,
            tuple(_code_cell(number, cell) for number, cell in _code_cells(nb)),
            files,
            secret.read_text().strip() if self.secret_file and secret.is_file() else "public",
            cell_seconds=self.timeout,
            seconds=self.submission_timeout,
            restarts=self.max_restarts,
            output=self.max_output_bytes,
        )

    def limits(self) -> list[int]:
        """What a verdict may depend on besides the submission and the test set."""
        return [self.timeout, self.submission_timeout, self.max_output_bytes, self.max_restarts]


def configured(config: Config) -> ExecuteLesson:
    """The class's settings for running a lesson. GraderError where they run lessons by other means."""
    steps = config.Autograde.get("autograde_preprocessors", [])
    found = next((step for step in steps if isinstance(step, type) and issubclass(step, ExecuteLesson)), None)
    if found is None:
        raise GraderError(
            "nbgrader_config.py leaves ExecuteLesson out of c.Autograde.autograde_preprocessors, so nothing would run "
            "the submissions safely. Put it back, or grade with nbgrader's own commands."
        )
    return found(config=config)


def finished(nb: NotebookNode, graded: Graded) -> NotebookNode:
    """A copy of a notebook with the outputs of its code cells."""
    made = copy.deepcopy(nb)
    for count, ((_, cell), outputs) in enumerate(zip(_code_cells(made), graded.outputs, strict=True), start=1):
        cell.outputs = [from_dict(out) for out in outputs]
        cell.execution_count = count if cell.source.strip() else None
    return made


def _code_cells(nb: NotebookNode) -> Iterator[tuple[int, NotebookNode]]:
    return ((number, cell) for number, cell in enumerate(nb.cells, start=1) if cell.cell_type == "code")


def _code_cell(number: int, cell: NotebookNode) -> CodeCell:
    tests = is_grade(cell) and not is_solution(cell)
    points = float(cell.metadata.nbgrader.points) if tests else None
    return CodeCell(grade_id(cell) or f"cell {number}", cell.source, points)


def files_beside(folders: Iterable[Path], megabytes: float) -> dict[str, bytes]:
    """Files of the folders by relative path, those of later folders in place of earlier ones; no notebooks.

    Links and special files are left out, and the largest files where all together have more than `megabytes`.
    """
    found = {str(path.relative_to(folder)): path for folder in folders for path in _files(folder)}
    sizes = sorted((path.stat().st_size, name) for name, path in found.items())
    left = megabytes * MEGABYTE
    taken: dict[str, bytes] = {}
    for size, name in sizes:
        left -= size
        if left < 0:
            break
        taken[name] = found[name].read_bytes()
    return taken


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in (".ipynb_checkpoints", "__pycache__")]
        for name in names:
            path = Path(place, name)
            if not fnmatch(name, "*.ipynb") and stat.S_ISREG(path.lstat().st_mode) and os.access(path, os.R_OK):
                yield path
