"""What nbgrader itself plugs in around grading (nbgrader_config.py names it), so that its own commands do as
`grader grade` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Unicode

from grader.classroom.folder import ClassFolder
from grader.classroom.master import load_master
from grader.classroom.repair import repair
from grader.classroom.terms import read_terms

__all__ = ["RepairSubmission", "TermDates"]

Resources = dict[str, Any]


class RepairSubmission(NbGraderPreprocessor):  # type: ignore[misc]
    """Before anything else in autograding: mend the notebook, since nbgrader stops at a doubled cell id."""

    root = Unicode("", help="The class folder.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about = resources["nbgrader"]
        mended, notes = repair(nb, load_master(ClassFolder(Path(self.root)), about["assignment"], about["db_url"]))
        for note in notes:
            self.log.warning("%s, %s: %s", about["student"], about["notebook"], note)
        return mended, resources


class TermDates(NbGraderPreprocessor):  # type: ignore[misc]
    """Before lateness is looked at: the due date and the extension that class.toml has for a submission."""

    file = Unicode("", help="The class's class.toml.").tag(config=True)

    def preprocess(self, nb: NotebookNode, resources: Resources) -> tuple[NotebookNode, Resources]:
        about, terms = resources["nbgrader"], read_terms(Path(self.file))
        if not (terms.due or terms.extensions):
            return nb, resources
        with Gradebook(about["db_url"]) as gradebook:
            row = gradebook.find_submission(about["assignment"], about["student"])
            lesson = row.assignment
            lesson.duedate = terms.due.get(lesson.name, lesson.duedate)
            until = terms.until(about["student"], lesson.name, lesson.duedate) if lesson.duedate else None
            row.extension = until - lesson.duedate if until is not None else row.extension
            gradebook.db.commit()
        return nb, resources
