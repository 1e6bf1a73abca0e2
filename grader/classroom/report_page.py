"""report.html: the class for whoever teaches it, in one file, with the tables beside it in report/."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote

from markupsafe import Markup

from grader.classroom.class_report import ClassReport, class_report, scores
from grader.classroom.folder import write_atomically
from grader.classroom.insight import KINDS, kind_of
from grader.classroom.outcome import Status
from grader.classroom.snapshot import remember
from grader.classroom.summary import ClassSummary, Entry
from grader.classroom.tables import TABLES, write_tables
from grader.classroom.templates import template

__all__ = ["write_report"]

MOST_ROWS = 400  # students in the table of the page; more are in the CSV files
SQUARE, STEP = 11, 14


def write_report(summary: ClassSummary, *, after_run: bool = False) -> None:
    """Write report.html and report/*.csv into the class folder. after_run: the scores are those of a new run."""
    if after_run:
        remember(summary.folder, scores(summary))
    report = class_report(summary)
    write_tables(report)
    write_atomically(summary.folder.report, _page(report))


def _page(report: ClassReport) -> str:
    links = _Links(report.summary)
    return template("report.html.j2").render(
        report=report,
        summary=report.summary,
        when=_local(datetime.now(UTC)),
        before=_local(datetime.fromisoformat(report.since.when)) if report.since.when else "",
        several_mistakes=[mistake for mistake in report.mistakes if len(mistake.students) > 1],
        several=[group for group in report.groups if len(group.students) > 1],
        rows=report.summary.rows[:MOST_ROWS],
        link=links.to,
        squares=_squares,
        kinds=KINDS,
        tables=list(TABLES),
        tone={Status.GRADED: "", Status.LOOK: "look", Status.UNREADABLE: "bad", Status.MISSING: "none"},
    )


def _local(when: datetime) -> str:
    """A time here, and in UTC where that is another one."""
    here = when.astimezone()
    other = "" if here.utcoffset() == when.utcoffset() else f" ({when.astimezone(UTC):%H:%M} UTC)"
    return f"{here:%Y-%m-%d %H:%M %Z}{other}"


class _Links:
    """Where students' feedback pages lie, seen from report.html."""

    def __init__(self, summary: ClassSummary) -> None:
        self.folder = summary.folder
        self.lessons = {r.exercise: e.lesson for row in summary.rows for e in row.entries for r in e.outcome.exercises}

    def to(self, student: str, *, lesson: str = "", exercise: str = "") -> str | None:
        """The page, at an exercise's place; None where there is none."""
        path = self.folder.feedback(student, lesson or self.lessons.get(exercise, ""))
        if not path.is_file():
            return None
        place = f"#{quote(exercise)}" if exercise else ""
        return quote(path.relative_to(self.folder.root).as_posix()) + place


def _squares(entry: Entry) -> Markup:
    """A small square for each exercise of a submission; the words are in its title."""
    found = [(result.exercise, kind_of(result)) for result in entry.outcome.exercises]
    paths: dict[str, str] = {}
    for number, (_, kind) in enumerate(found):
        paths[kind] = paths.get(kind, "") + f"M{number * STEP} 0h{SQUARE}v{SQUARE}h-{SQUARE}z"
    drawn = Markup("").join(Markup('<path class="{}" d="{}"/>').format(kind, d) for kind, d in paths.items())
    words = ", ".join(f"{exercise} {kind}" for exercise, kind in found)
    return Markup('<svg role="img" aria-label="{}" width="{}" height="{}"><title>{}</title>{}</svg>').format(
        words, max(1, len(found) * STEP), SQUARE, words, drawn
    )
