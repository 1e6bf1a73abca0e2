"""Zips from Moodle: "Download all submissions" on an assignment, and its grading worksheet, which says who is who.

The names are made by mod_assign in Moodle's own, public source (github.com/moodle/moodle,
mod/assign/classes/downloader.php, before 4.1 in mod/assign/locallib.php): the full name, the participant number,
the part of the assignment, and the student's own name for the file, in a folder (the option "Download submissions
in folders") or without:

    Ada Lovelace_1042_assignsubmission_file_/02_relu.ipynb
    Ada Lovelace_1042_assignsubmission_file_02_relu.ipynb

Older versions end the folder in "_"; in a course with groups the group and a hyphen may come first. Group work has
the group's name and number, or a group's name alone; blind marking has the word Participant for the name. The number
belongs to this one assignment, so that only the grading worksheet ("Participant 1042", full name, email) ties it to a
person. Neither zip nor names tell when it was handed in; the worksheet does, in the time zone of whoever downloaded it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

from dateutil import parser

from grader.classroom.lms.archive import Archive
from grader.classroom.lms.piece import Layout, Person, Piece, Reading
from grader.classroom.sheet import read_sheet
from grader.errors import GraderError

__all__ = ["MOODLE", "Participant", "moodle_with", "read_worksheet"]

PART = r"(?P<who>[^/]*?)(?:_(?P<number>\d+))?_assignsubmission_(?P<part>[a-z]+)"
# The first match counts, so that nobody is named by a folder that a student made.
NAMED = re.compile(rf"(?:[^/]+/)??{PART}(?:_?/|_)(?P<file>.+)", re.DOTALL)


@dataclass(frozen=True)
class Participant:
    """A row of the grading worksheet: `number` of "Participant 1042", and when the work was last changed, if told."""

    number: str
    name: str
    emails: tuple[str, ...]
    ids: tuple[str, ...]
    when: datetime | None


def read_worksheet(path: Path, zone: tzinfo) -> dict[str, Participant]:
    """The participants of an offline grading worksheet, by number. Its times have no time zone: they get `zone`.

    GraderError when it is none.
    """
    sheet = read_sheet(path)
    column = sheet.column("identifier")
    if column is None:
        raise GraderError(
            f"{path} is no grading worksheet of Moodle: it has no column Identifier. In the assignment, choose "
            '"Download grading worksheet", with Moodle in English (the setting "Offline grading worksheet" offers it)'
        )
    found = {}
    for line in sheet.lines:
        number = re.search(r"(\d+)$", line.cells[column])
        if number is None:
            raise GraderError(f"{path}, line {line.number}: {line.cells[column]!r} is not as in Participant 12")

        told = sheet.texts(line, "last modified (submission)")
        found[number[1]] = Participant(
            number[1],
            "".join(sheet.texts(line, "full name")[:1]),
            sheet.texts(line, "email address", "email"),
            sheet.texts(line, "id number", "username"),
            _time(told[0], zone) if told else None,
        )
    return found


def _time(text: str, zone: tzinfo) -> datetime | None:
    """Moodle's "Thursday, 1 October 2026, 11:05 PM"; "-" is none."""
    try:
        when: datetime = parser.parse(text)
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=zone)


def moodle_with(worksheet: dict[str, Participant]) -> Layout:
    """Moodle's layout, with what the worksheet knows."""
    return Layout("moodle", _share, lambda archive: _read(archive, worksheet))


def _share(archive: Archive) -> float:
    return sum(NAMED.fullmatch(m.path) is not None for m in archive.files) / max(len(archive.files), 1)


def _read(archive: Archive, worksheet: dict[str, Participant]) -> Reading:
    pieces, others = [], {}
    for member in archive.files:
        found = NAMED.fullmatch(member.path)
        if found is None:
            others[member.path] = "not named as Moodle names submissions"
        elif found["part"] != "file":
            others[member.path] = "a text typed into Moodle, no file"
        else:
            known = worksheet.get(found["number"] or "")
            person = _person(found, known)
            when = known.when if known else None
            pieces.append(Piece((person,), found["file"], member, person.called, when=when))
    notes = [] if worksheet or not pieces else ["Moodle's zip does not say when work was handed in (see --worksheet)"]
    return Reading(pieces, others, notes)


def _person(found: re.Match[str], known: Participant | None) -> Person:
    name, number = found["who"], found["number"]
    called = f"{name} (participant {number})" if number else name
    if known and (known.name or known.emails):
        return Person(called, name=known.name or name, emails=known.emails, ids=known.ids)
    return Person(called, name=name, anonymous=name.casefold() == "participant")


MOODLE = moodle_with({})
