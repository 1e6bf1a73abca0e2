"""Who of the class is meant by what an LMS says: by ids, then email, then name; never by a guess."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from grader.classroom.lms.piece import Person
from grader.classroom.students import Student

__all__ = ["Match", "Roll"]


@dataclass(frozen=True)
class Match:
    """The students meant (several for a group's name), how they were recognised, and why there is none."""

    students: tuple[str, ...] = ()
    how: str = ""
    why_not: str = ""


class Roll:
    """The class's list, by everything a student can be known by."""

    def __init__(self, students: Iterable[Student]) -> None:
        self.students = {student.id: student for student in students}
        self._lms, self._ids, self._emails, self._names, self._plain, self._groups = (
            defaultdict[str, set[str]](set) for _ in range(6)
        )
        for student in self.students.values():
            _add(self._lms, student.lms_id, student.id)
            for identity in (student.id, *student.other_ids):
                _add(self._ids, identity, student.id)
                if "@" in identity:
                    _add(self._emails, identity.casefold(), student.id)
            _add(self._emails, student.email.casefold(), student.id)
            for group in student.groups:
                _add(self._groups, _letters(group), student.id)
            if student.first_name or student.last_name:
                for name in (f"{student.first_name} {student.last_name}", f"{student.last_name} {student.first_name}"):
                    _add(self._names, _letters(name), student.id)
                    _add(self._plain, _plain(name), student.id)

    def find(self, person: Person) -> Match:
        """The student that `person` is, or why that is not sure."""
        if person.anonymous:
            return Match(why_not="the LMS hides who this is; show the names there and download again")
        members = self._groups.get(_letters(person.name)) if person.name else None
        if members and not self._names.get(_letters(person.name)):
            return Match(tuple(sorted(members)), "group")
        found, how = self._by_id(person)
        if len(found) > 1:
            return Match(why_not=f"its ids and emails are those of several: {', '.join(sorted(found))}")
        named, by_name = self._by_name(person.name)
        if how:
            return self._agreed(person, next(iter(found)), how, named)
        if len(named) > 1:
            return Match(why_not=f"several are called so: {', '.join(sorted(named))}. Put LMS ids in the class's list")
        if named:
            return Match(tuple(named), by_name)
        return Match(why_not=f"nobody in the class's list has {_said(person)}")

    def _by_id(self, person: Person) -> tuple[set[str], str]:
        """Everybody who has one of the ids or emails, and the first of them that told. Bare numbers only where no
        other did."""
        sure: dict[str, set[str]] = {
            "LMS id": _all(self._lms, person.lms_ids),
            "email": _all(self._emails, [email.casefold() for email in person.emails]),
            "id": _all(self._ids, person.ids) | _all(self._lms, person.ids),
        }
        number = {"number": _all(self._ids, person.lms_ids)}
        asked = sure if any(sure.values()) else number
        return set().union(*asked.values()), next((how for how, found in asked.items() if found), "")

    def _by_name(self, name: str) -> tuple[set[str], str]:
        """Who is called `name`; Moodle may put a group and a hyphen before it."""
        if not name:
            return set(), ""
        parts = name.split("-")
        for start in range(len(parts)):
            rest = "-".join(parts[start:])
            for names, key, how in (
                (self._names, _letters(rest), "name"),
                (self._plain, _plain(rest), "name without accents"),
            ):
                if found := names.get(key):
                    return set(found), how
        return set(), ""

    def _agreed(self, person: Person, student: str, how: str, named: set[str]) -> Match:
        """An id counts unless the name is somebody else's. A bare number may be a student number by chance: it
        counts only where the name agrees."""
        if named and student not in named:
            return Match(why_not=f"the {how} is {student}'s, but the name is {', '.join(sorted(named))}'s")
        if how == "number" and not named and self._has_name(student):
            return Match(why_not=f"the LMS's number is {student}'s id, but the name is not {student}'s")
        return Match((student,), how)

    def _has_name(self, student: str) -> bool:
        known = self.students[student]
        return bool(known.first_name or known.last_name)


def _add(index: dict[str, set[str]], key: str, student: str) -> None:
    if key:
        index[key].add(student)


def _all(index: dict[str, set[str]], keys: Iterable[str]) -> set[str]:
    return set().union(*(index.get(key, set()) for key in keys))


def _letters(name: str) -> str:
    """The letters and digits of a name: LMSs leave out commas, spaces, hyphens, underscores."""
    text = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFC", "".join(c for c in text if unicodedata.category(c)[0] in "LNM"))


def _plain(name: str) -> str:
    """The letters of a name without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", _letters(name)) if unicodedata.category(c)[0] in "LN")


def _said(person: Person) -> str:
    told = [f"the name {person.name!r}"] if person.name else []
    told += [f"the email {email}" for email in person.emails]
    told += [f"the id {identity}" for identity in (*person.ids, *person.lms_ids)]
    return " or ".join(told) or "anything this file tells"
