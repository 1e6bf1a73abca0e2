"""Zips from Gradescope: "Export Submissions" on a programming assignment.

Gradescope publishes no page on the format (its public guides name the button only), so this follows what public
programs that read such exports expect, for instance those found on GitHub by the word submission_metadata.yml:
a folder `assignment_8046601_export/` with a folder `submission_91/` for each submission, its files as they were
handed in, and submission_metadata.yml, which has for each folder

    submission_91:
      :submitters:
      - :name: Ada Lovelace
        :sid: '20250001'
        :email: ada@example.org
      :created_at: 2026-10-01 21:14:05.102030000 Z
      :history:
      - :created_at: ...

Several submitters are a group. The export has each submission's last version alone; :history: tells of earlier ones.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import yaml
from dateutil import parser

from grader.classroom.lms.archive import Archive, Member
from grader.classroom.lms.piece import Layout, Person, Piece, Reading
from grader.errors import GraderError

__all__ = ["GRADESCOPE"]

METADATA = "submission_metadata.yml"
LARGEST = 50_000_000  # bytes of metadata; it holds the results of every test


def _share(archive: Archive) -> float:
    return 1.0 if _metadata(archive) else 0.0


def _metadata(archive: Archive) -> Member | None:
    found = [m for m in archive.files if m.name == METADATA and m.path.count("/") <= 1]
    return found[0] if len(found) == 1 else None


def _read(archive: Archive) -> Reading:
    member = _metadata(archive)
    if member is None:
        raise GraderError(
            f"there is no {METADATA} in this zip, so it does not say whose work it is. In Gradescope, choose Export "
            "Submissions on the assignment's Review Grades page, and leave the download zipped"
        )
    told = _loaded(member)
    root = member.path.removesuffix(METADATA)
    pieces, others, notes = [], {}, []
    for folder, about in told.items():
        earlier = _list(about, "history")
        if earlier:
            times = ", ".join(_text(entry, "created_at") for entry in earlier[:5])
            who = ", ".join(person.called for person in _people(about)) or folder
            notes.append(f"{who}: {len(earlier)} earlier versions are in Gradescope, not in this zip ({times})")
    for file in archive.files:
        folder, _, name = file.path.removeprefix(root).partition("/")
        if file is member:
            continue
        if folder not in told or not name or not file.path.startswith(root):
            others[file.path] = f"not in {METADATA}"
            continue
        about, number = told[folder], re.search(r"\d+$", folder)
        when = _time(_text(about, "created_at"))
        order = (int(when.timestamp()) if when else 0, int(number.group()) if number else 0)
        people = _people(about) or (Person(folder, anonymous=True),)
        pieces.append(Piece(people, name, file, folder, order=order, when=when, late=_text(about, "late") == "true"))
    return Reading(pieces, others, notes)


def _loaded(member: Member) -> dict[str, Any]:
    if member.size > LARGEST:
        raise GraderError(f"{METADATA} has {member.size} bytes, and {LARGEST} is the limit")
    text = member.read()
    try:  # the base loader makes texts of everything, so that a student number keeps its zeros
        told = yaml.load(text.decode("utf-8-sig"), Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise GraderError(f"{METADATA} cannot be read{line}: it is no whole YAML file") from None
    if not isinstance(told, dict) or not all(isinstance(about, dict) for about in told.values()):
        raise GraderError(f"{METADATA} does not list submissions as Gradescope does")
    return {str(folder): about for folder, about in told.items()}


def _people(about: dict[str, Any]) -> tuple[Person, ...]:
    return tuple(_person(entry) for entry in _list(about, "submitters") if isinstance(entry, dict))


def _person(entry: dict[str, Any]) -> Person:
    name, email, sid = (_text(entry, key) for key in ("name", "email", "sid"))
    called = name or email or sid or "somebody"
    return Person(called, name=name, emails=(email,) if email else (), ids=(sid,) if sid else ())


def _get(about: Any, key: str) -> Any:
    """A value under `:key`, as Ruby writes it, or under `key`."""
    return about.get(f":{key}", about.get(key)) if isinstance(about, dict) else None


def _text(about: Any, key: str) -> str:
    found = _get(about, key)
    return found.strip() if isinstance(found, str) else ""


def _list(about: dict[str, Any], key: str) -> list[Any]:
    found = _get(about, key)
    return found if isinstance(found, list) else []


def _time(value: str) -> datetime | None:
    """A time with its zone; one without is in UTC, as in YAML."""
    try:
        when: datetime = parser.parse(value)
    except (ValueError, OverflowError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


GRADESCOPE = Layout("gradescope", _share, _read)
