"""What nbgrader itself plugs in before grading (nbgrader_config.py names it), so that its own commands do as
`grader grade` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.classroom.folder import ClassFolder
from grader.classroom.master import load_master
from grader.classroom.repair import repair

__all__ = ["RepairSubmission"]

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
