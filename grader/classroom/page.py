"""report.html and the page a student gets for an unreadable file: static, light and dark, nothing from
outside."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader

from grader.classroom.folder import write_atomically
from grader.classroom.outcome import Outcome, Status
from grader.classroom.summary import ClassSummary, Entry
from grader.classroom.table import attention, number

__all__ = ["refusal_page", "write_report"]


def write_report(summary: ClassSummary) -> None:
    """Write report.html into the class folder."""
    page = _pages().get_template("report.html.j2")
    now = datetime.now(UTC).astimezone()
    text = page.render(
        summary=summary,
        when=f"{now:%Y-%m-%d %H:%M %Z}" + ("" if now.tzname() == "UTC" else f" ({now.astimezone(UTC):%H:%M} UTC)"),
        attention=attention(summary.rows),
        means={lesson: _mean(summary, lesson) for lesson in summary.lessons},
        most=max((len(m.students) for m in summary.mistakes), default=1),
        link=lambda entry: _feedback_link(summary, entry),
    )
    write_atomically(summary.folder.report, text)


def refusal_page(outcome: Outcome) -> str:
    """What a student reads who handed in something that cannot be graded."""
    return _pages().get_template("refusal.html.j2").render(outcome=outcome)


@cache
def _pages() -> Environment:
    pages = Environment(
        loader=PackageLoader("grader.classroom", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    pages.filters["number"] = number
    pages.filters["tone"] = _tone
    return pages


def _mean(summary: ClassSummary, lesson: str) -> float | None:
    """Mean points of those who have points in the lesson."""
    found = [e.points for row in summary.rows for e in row.entries if e.lesson == lesson and e.points is not None]
    return sum(found) / len(found) if found else None


def _feedback_link(summary: ClassSummary, entry: Entry) -> str | None:
    """Where the student's feedback page lies, seen from report.html."""
    path = summary.folder.feedback(entry.outcome.student, entry.lesson)
    return path.relative_to(summary.folder.root).as_posix() if path.exists() else None


def _tone(entry: Entry) -> dict[str, Any]:
    """How a cell of the table looks: share of the points in percent, and the class for its status."""
    share = 0 if entry.points is None or not entry.out_of else round(100 * entry.points / entry.out_of)
    names = {Status.GRADED: "", Status.LOOK: "look", Status.UNREADABLE: "bad", Status.MISSING: "none"}
    return {"share": share, "status": names[entry.status]}
