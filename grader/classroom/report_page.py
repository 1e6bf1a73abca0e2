"""report.html, and the tables beside it in report/ (see tables.py): the class for whoever teaches it."""

from __future__ import annotations

from grader.classroom.folder import write_atomically
from grader.classroom.summary import ClassSummary

__all__ = ["write_report"]


def write_report(summary: ClassSummary) -> None:
    """Write report.html into the class folder."""
    write_atomically(summary.folder.report, "")
