"""The pieces nbgrader itself plugs in (nbgrader_config.py names them), so that its own commands do as
`grader grade` does."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from nbgrader.utils import is_grade

from grader.classroom.folder import ClassFolder
from grader.classroom.master import load_master
from grader.classroom.repair import repair
from grader.grading.outputs import MIME

__all__ = ["HideTests", "OwnTextOnly", "RepairSubmission"]

Resources = dict[str, Any]


class RepairSubmission(NbGraderPreprocessor):  # type: ignore[misc]
    """Before anything else in autograding: mend the notebook, since nbgrader stops at a doubled cell id."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about = resources["nbgrader"]
        folder = ClassFolder(Path(about["db_url"].removeprefix("sqlite:///")).parent)
        mended, notes = repair(nb, load_master(folder, about["assignment"]))
        for note in notes:
            self.log.warning("%s, %s: %s", about["student"], about["notebook"], note)
        return mended, resources


class HideTests(ClearHiddenTests):  # type: ignore[misc]
    """For feedback: takes hidden tests out of the test cells' text and of the tracebacks that quote it, and
    the verdict records, which are for programs."""

    enforce_metadata = False

    def preprocess_cell(self, cell: NotebookNode, resources: Resources, index: int) -> tuple[NotebookNode, Resources]:
        if is_grade(cell) and cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if MIME not in out.get("data", {})]
            for out in cell.outputs:
                if out.output_type == "error":
                    out.traceback = [f"{out.ename}: {out.evalue}"]
            self._remove_hidden_test_region(cell)
        return cell, resources


class OwnTextOnly(NbGraderPreprocessor):  # type: ignore[misc]
    """For feedback: HTML in the lesson's own text cells stays, in text that a student wrote it is shown as it is
    written. Else a script in it would run in the browser of whoever opens the page."""

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about = resources["nbgrader"]
        folder = ClassFolder(Path(about["db_url"].removeprefix("sqlite:///")).parent)
        path = folder.release(about["assignment"])
        ours = _texts(path, path.stat().st_mtime_ns) if path.is_file() else frozenset()
        for cell in nb.cells:
            if cell.cell_type == "raw":
                cell.metadata.pop("raw_mimetype", None)
                cell.metadata.pop("format", None)
            if cell.cell_type != "code" and cell.source not in ours:
                cell.source = cell.source.replace("<", "&lt;")
        return nb, resources


@lru_cache(maxsize=32)
def _texts(path: Path, _changed: int) -> frozenset[str]:
    """The text cells of a notebook."""
    return frozenset(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
