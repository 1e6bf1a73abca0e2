"""grader import-zip: a zip of submissions from an LMS into the class."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import parser
from traitlets.config import Config

from grader.classroom.folder import ClassFolder
from grader.classroom.lms.archive import Archive
from grader.classroom.lms.canvas import CANVAS
from grader.classroom.lms.contents import Library
from grader.classroom.lms.gradescope import GRADESCOPE
from grader.classroom.lms.moodle import moodle_with, read_worksheet
from grader.classroom.lms.people import Roll
from grader.classroom.lms.piece import Layout
from grader.classroom.lms.place import Outcome, Placer
from grader.classroom.lms.plan import Skipped, make_plan
from grader.classroom.master import load_master
from grader.classroom.settings import find_alembic, load_config, setting
from grader.classroom.students import known_students
from grader.classroom.terms import read_terms
from grader.errors import GraderError

__all__ = ["LAYOUTS", "TakenIn", "take_in"]

LAYOUTS = ("canvas", "moodle", "gradescope")
SURE = 0.5  # of the files named in a layout's way


@dataclass(frozen=True)
class TakenIn:
    """What became of a zip, or would become of it. absent: students of the class with nothing in it."""

    layout: str
    outcomes: list[Outcome]
    skipped: list[Skipped]
    notes: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        taken = [
            {
                "student": outcome.submission.student,
                "lesson": outcome.submission.lesson,
                "what": outcome.what,
                "file": outcome.submission.shown,
                "called": outcome.submission.called,
                "recognised_by": outcome.submission.how,
                "when": outcome.submission.when.isoformat() if outcome.submission.when else None,
                "late": outcome.submission.late,
                "kept": outcome.kept or None,
                "notes": outcome.submission.notes,
            }
            for outcome in self.outcomes
        ]
        skipped = [{"file": skipped.shown, "called": skipped.called, "why": skipped.why} for skipped in self.skipped]
        told = {"layout": self.layout, "dry_run": self.dry_run, "submissions": taken, "not_taken": skipped}
        return told | {"notes": self.notes, "nothing_from": self.absent}


def take_in(
    path: Path,
    file: Path,
    *,
    layout: str | None = None,
    lesson: str | None = None,
    worksheet: Path | None = None,
    before: str | None = None,
    timezone: str | None = None,
    dry_run: bool = False,
) -> TakenIn:
    """Take the submissions in the zip `file` into the class in `path`, or only say what that would do.

    layout: one of LAYOUTS; known by the names in the zip where it is not given. lesson: only this one. worksheet:
    Moodle's grading worksheet. before: attempts after this time do not count. timezone: of times that have none
    (default: c.Exchange.timezone, else that of class.toml). GraderError, and nothing written, when the zip is refused.
    """
    find_alembic()
    folder = ClassFolder.open(path)
    config = load_config(folder)
    zone = _zone(timezone or str(setting(config, "Exchange", "timezone", read_terms(folder.terms_file).local.key)))
    if worksheet is not None and layout not in (None, "moodle"):
        raise GraderError(f"--worksheet is Moodle's, and --from {layout} was given")
    deadline = _moment(before, zone) if before else None
    participants = read_worksheet(worksheet, zone) if worksheet else {}
    layouts = {known.name: known for known in (CANVAS, moodle_with(participants), GRADESCOPE)}
    masters = {name: load_master(folder, name) for name in ([lesson] if lesson else []) + folder.lessons()}
    with folder.locked(), Archive.open(file) as archive:
        chosen = _layout(file, archive, layouts, "moodle" if worksheet else layout)
        roll = Roll(known_students(folder, config))
        plan = make_plan(chosen.read(archive), roll, Library(masters), lesson=lesson, before=deadline)
        placer = Placer(folder, chosen.name)
        outcomes = [placer.decide(s) for s in plan.submissions] if dry_run else placer.place(plan.submissions)
    excluded = _excluded(config)
    absent = [student for student in plan.absent if student not in excluded]
    return TakenIn(chosen.name, outcomes, plan.skipped, plan.notes, absent, dry_run)


def _excluded(config: Config) -> set[str]:
    return set(str(setting(config, "CourseDirectory", "student_id_exclude", "")).split(","))


def _layout(file: Path, archive: Archive, layouts: dict[str, Layout], asked: str | None) -> Layout:
    """The layout of a zip. GraderError when it is not sure."""
    if not archive.files:
        raise GraderError(f"{file} holds no file: nobody has handed anything in, or it was zipped without its contents")
    shares = {name: layout.share(archive) for name, layout in layouts.items()}
    if asked is not None:
        if not shares[asked]:
            raise GraderError(
                f"nothing in {file} is named as {asked} names submissions, for instance {archive.files[0].path!r}. "
                "Take the zip as the LMS gives it, not one that was unpacked and renamed"
            )
        return layouts[asked]
    sure = [name for name, share in shares.items() if share >= SURE]
    if len(sure) != 1:
        raise GraderError(
            f"it is not sure which LMS {file} comes from; a file in it is {archive.files[0].path!r}. "
            f"Say so: --from {'|'.join(layouts)}"
        )
    return layouts[sure[0]]


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise GraderError(f"no time zone is called {name!r}; they are named as in Europe/Berlin or UTC") from None


def _moment(text: str, zone: tzinfo) -> datetime:
    try:
        moment: datetime = parser.parse(text)
    except (ValueError, OverflowError):
        raise GraderError(f"--before {text!r} is no time, as in 2026-10-01 23:59") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
