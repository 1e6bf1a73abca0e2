"""The page a student gets: an nbconvert exporter, so that nbgrader's own generate_feedback and the formgrader make the
very page that `grader grade` makes (nbgrader_config.py names it as c.GenerateFeedback.exporter_class)."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from traitlets import default

from grader.classroom.feedback_parts import extras, parts
from grader.classroom.folder import ClassFolder
from grader.classroom.handed_in import ARRIVED
from grader.classroom.steps import Resources
from grader.classroom.templates import template

__all__ = ["FeedbackPage"]


class FeedbackPage(Exporter):
    """A graded notebook as one HTML file: code, verdicts, pictures, comments and points; nothing of the tests.

    The points and comments are those that nbgrader's GetGrades has put into the notebook and the resources.
    """

    @default("file_extension")
    def _file_extension_default(self) -> str:
        return ".html"

    def from_filename(self, filename: str, resources: Any = None, **kw: Any) -> tuple[Any, dict[str, Any]]:
        """The page of a notebook file, which autograding has written and checked: it is not checked again."""
        notebook = nbformat.v4.reads(Path(filename).read_text(encoding="utf-8"))
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        resources["metadata"]["path"] = os.path.dirname(filename)
        return self.from_notebook_node(notebook, resources)

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kw: Any) -> tuple[Any, dict[str, Any]]:
        """The page of a notebook, which the steps before may change."""
        resources = self._init_resources(resources)  # type: ignore[no-untyped-call]
        for step in self._preprocessors:
            nb, resources = step(nb, resources)
        return self._page(nb, resources), resources

    def _page(self, nb: NotebookNode, resources: Resources) -> str:
        about = resources["nbgrader"]
        course: Any = self.parent  # nbgrader's converter
        title, given = _lesson(ClassFolder(Path(course.coursedir.root)).release(about["assignment"]))
        return template("feedback.html.j2").render(
            lesson=about["assignment"],
            title=title or about["assignment"],
            student=about["student"],
            arrived=_arrived(Path(resources["metadata"]["path"])),
            total=max(0.0, about["score"]),
            earned=about["score"] + about["late_penalty"],
            late=about["late_penalty"],
            out_of=about["max_score"],
            parts=parts(nb),
            extras=extras(nb, given),
        )


def _lesson(release: Path) -> tuple[str, frozenset[str]]:
    """The lesson's title, and the text of every cell it came with."""
    return _read(release, release.stat().st_mtime_ns) if release.is_file() else ("", frozenset())


@lru_cache(maxsize=32)
def _read(release: Path, _changed: int) -> tuple[str, frozenset[str]]:
    sources = [cell.source for cell in nbformat.read(release, as_version=4).cells]
    heading = next((line for source in sources for line in source.splitlines() if line.startswith("# ")), "")
    return heading.removeprefix("# ").strip(), frozenset(sources)


def _arrived(folder: Path) -> str:
    """When it was handed in, as nbgrader or a person has noted it."""
    try:
        return (folder / ARRIVED).read_text(encoding="utf-8").strip()[:40]
    except (OSError, ValueError):
        return ""
