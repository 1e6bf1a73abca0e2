"""class.toml: when lessons are due, who has longer, what lateness costs. Read by every run and by nbgrader's own
commands; terms_file.py writes it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from grader.classroom.clock import days_after, days_late, moment, zone
from grader.errors import GraderError

__all__ = ["EVERY", "Late", "Terms", "read_terms", "terms_of"]

EVERY = "*"  # in the place of a lesson: all of them
Longer = datetime | int  # an extension: until then (UTC), or so many days


@dataclass(frozen=True)
class Amount:
    """Points, or a share of them (0.1 for "10%")."""

    value: float
    share: bool

    def of(self, points: float) -> float:
        return self.value * points if self.share else self.value


@dataclass(frozen=True)
class Late:
    """What lateness costs: for each day begun, and at most; nothing within the grace."""

    per_day: Amount
    at_most: Amount
    grace: float = 0.0  # minutes
    of_possible: bool = False  # shares are of the points that can be had, not of those that were earned

    def penalty(self, days: int, *, earned: float, possible: float) -> float:
        """The points that so many days cost: never more than were earned."""
        base = possible if self.of_possible else earned
        return max(0.0, min(round(min(days * self.per_day.of(base), self.at_most.of(base)), 4), earned))


@dataclass(frozen=True)
class Terms:
    """The dates of a class, in UTC. What the file does not name is left to the gradebook."""

    local: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    due: Mapping[str, datetime] = field(default_factory=dict)  # by lesson
    extensions: Mapping[tuple[str, str], Longer] = field(default_factory=dict)  # by student and lesson, or EVERY
    late: Late | None = None

    def until(self, student: str, lesson: str, due: datetime) -> datetime | None:
        """Until when a student has time, by an extension; None without one. Never before `due`."""
        found = self.extensions.get((student, lesson), self.extensions.get((student, EVERY)))
        if found is None:
            return None
        return max(due, found if isinstance(found, datetime) else days_after(due, found, self.local))

    def days_late(self, due: datetime, arrived: datetime) -> int:
        """Days begun after `due`. The grace is taken off the time of arrival, so that it holds for each day."""
        return days_late(due, arrived - timedelta(minutes=self.late.grace if self.late else 0), self.local)


def read_terms(file: Path) -> Terms:
    """What the file says; nothing where there is none. GraderError with the place for what cannot be read."""
    try:
        about = file.stat()
    except OSError:
        return Terms()
    return _read(file, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=8)
def _read(file: Path, _changed: int, _size: int) -> Terms:
    try:
        return terms_of(file.read_text(encoding="utf-8-sig"), file)
    except (UnicodeDecodeError, OSError) as error:
        raise GraderError(f"{file} cannot be read: {error}") from None


def terms_of(text: str, file: Path) -> Terms:
    """What a text says that is, or is to be, in the file. GraderError with the place for what cannot be read."""
    try:
        return _terms(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise GraderError(f"{file} cannot be read: {error}. Texts and times stand in quotes there") from None
    except GraderError as error:
        raise GraderError(f"{file}: {error}") from None


def _terms(told: dict[str, Any]) -> Terms:
    _known(told, "the file", "timezone", "due", "late", "extensions")
    name = told.get("timezone", "UTC")
    local = zone(name if isinstance(name, str) else repr(name))
    due = {lesson: _at(f"due.{lesson}", when, local) for lesson, when in _table(told, "due").items()}
    longer = {
        (student, lesson): _longer(f"extensions.{student}.{lesson}", given, local)
        for student, given_to in _table(told, "extensions").items()
        for lesson, given in _table({student: given_to}, student).items()
    }
    return Terms(local, due, longer, _late(_table(told, "late")))


def _table(told: dict[str, Any], name: str) -> dict[str, Any]:
    found = told.get(name, {})
    if not isinstance(found, dict):
        raise GraderError(f"{name} is to be a table of its own: [{name}]")
    return found


def _known(told: dict[str, Any], where: str, *names: str) -> None:
    for name in told:
        if name not in names:
            raise GraderError(f"{where} has {name!r}, which means nothing. Known are: {', '.join(names)}")


def _at(where: str, told: Any, local: ZoneInfo) -> datetime:
    try:
        return moment(told, local)
    except GraderError as error:
        raise GraderError(f"{where}: {error}") from None


def _longer(where: str, told: Any, local: ZoneInfo) -> Longer:
    days = re.fullmatch(r"\s*(\d+)\s*days?\s*", told) if isinstance(told, str) else None
    return int(days[1]) if days else _at(where, told, local)


def _late(told: dict[str, Any]) -> Late | None:
    if not told:
        return None
    _known(told, "[late]", "per_day", "at_most", "grace_minutes", "percent_of")
    if "per_day" not in told:
        raise GraderError('[late] does not say what a day costs: per_day = "10%", or per_day = 1 for a point')
    base = told.get("percent_of", "earned")
    if base not in ("earned", "possible"):
        raise GraderError(f'late.percent_of is {base!r}; it can be "earned" or "possible"')
    per_day, at_most = _amount("late.per_day", told["per_day"]), _amount("late.at_most", told.get("at_most", "100%"))
    return Late(per_day, at_most, _number("late.grace_minutes", told.get("grace_minutes", 0)), base == "possible")


def _amount(where: str, told: Any) -> Amount:
    if isinstance(told, str) and told.strip().endswith("%"):
        return Amount(_number(where, told.strip()[:-1]) / 100, share=True)
    return Amount(_number(where, told), share=False)


def _number(where: str, told: Any) -> float:
    try:
        found = float(told) if not isinstance(told, bool) else -1.0
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found < float("inf"):
        raise GraderError(f'{where} is {told!r}; it is to be a number from 0, or a share like "10%"')
    return found
