"""The pieces nbgrader itself plugs in (nbgrader_config.py names them), so that its own commands do as
`grader grade` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from nbgrader.utils import is_grade

from grader.classroom.folder import ClassFolder
from grader.classroom.master import load_master
from grader.classroom.repair import repair
from grader.hidden import MIME

__all__ = ["HideTests", "RepairSubmission"]

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
