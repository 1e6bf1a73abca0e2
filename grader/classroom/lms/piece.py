"""One file of one person, as every LMS's reader tells it, before anybody knows who of the class that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from grader.classroom.lms.archive import Archive, Member

__all__ = ["Layout", "Person", "Piece", "Reading"]


@dataclass(frozen=True)
class Person:
    """Who handed in, by what the LMS says. `called` is that in the LMS's own words, to show.

    lms_ids: the LMS's own ids; ids: institutional ones, logins, student numbers. name: in any order and
    spelling; `anonymous` where the LMS hides it.
    """

    called: str
    name: str = ""
    emails: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    lms_ids: tuple[str, ...] = ()
    anonymous: bool = False


@dataclass(frozen=True)
class Piece:
    """One file in the zip.

    people: whose it is; several for a group's work.
    attempt: pieces of one attempt share it. order: later attempts sort after earlier ones of the same person.
    file: the path within the submission, as the student named it.
    when: when it was handed in, with a time zone; None where the layout does not tell. late: marked so by the LMS.
    """

    people: tuple[Person, ...]
    file: str
    member: Member
    attempt: str
    order: tuple[int, ...] = ()
    when: datetime | None = None
    late: bool = False


@dataclass(frozen=True)
class Reading:
    """What a reader made of a zip. others: paths in it that are nobody's work, each with the reason; notes: what else
    to tell."""

    pieces: list[Piece]
    others: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """An LMS's way of naming. `share`: how much of a zip's files is named in that way, from 0 to 1."""

    name: str
    share: Callable[[Archive], float]
    read: Callable[[Archive], Reading]
