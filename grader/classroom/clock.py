"""Local times and UTC: what an instructor writes, what the gradebook stores, and what "a day later" means.

The gradebook's times are UTC without a zone, as nbgrader stores them ("UTC" below). A day later is the same time on the
clock on the next date, whether that day had 23, 24 or 25 hours.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tzlocal import get_localzone_name

from grader.errors import GraderError

__all__ = ["days_after", "days_late", "here", "moment", "shown", "zone"]

END_OF_DAY = time(23, 59, 59)


def zone(name: str) -> ZoneInfo:
    """The time zone of that IANA name. GraderError for an unknown one."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise GraderError(
            f"there is no time zone {name!r}. Names are like Europe/Berlin, America/New_York or UTC; "
            "en.wikipedia.org/wiki/List_of_tz_database_time_zones lists them all"
        ) from None


def here() -> str:
    """The name of this machine's time zone; UTC where it has none."""
    try:
        found = get_localzone_name()
        ZoneInfo(found)
    except (LookupError, ValueError, OSError):
        return "UTC"
    return "UTC" if found in ("Etc/UTC", "GMT") else found


def moment(told: object, local: ZoneInfo) -> datetime:
    """The UTC of a time an instructor wrote: a text in ISO form, or a date or time of a TOML file.

    Without an offset it is local time; a date alone is the end of that day. GraderError where it is no time, or where
    the clock showed it never or twice.
    """
    when = _read(told)
    if when.tzinfo is not None:
        return when.astimezone(UTC).replace(tzinfo=None)
    first, second = _readings(when, local)
    if first == second:
        return first
    if _local(first, local).replace(tzinfo=None) != when:
        later = f"{_local(first, local):%Y-%m-%d %H:%M}"
        raise GraderError(
            f"{when:%Y-%m-%d %H:%M} does not exist in {local}: the clocks jump over it that day. "
            f"Write a time that does, for instance {later}"
        )
    choices = " or ".join(_local(each, local).isoformat(sep=" ", timespec="minutes") for each in (first, second))
    raise GraderError(
        f"{when:%Y-%m-%d %H:%M} comes twice in {local}: the clocks go back that day. Write which: {choices}"
    )


def _read(told: object) -> datetime:
    if isinstance(told, str):
        told = _read_text(told.strip())
    if isinstance(told, datetime):
        return told
    if isinstance(told, date):
        return datetime.combine(told, END_OF_DAY)
    raise GraderError(f"{told!r} is no time. {_FORMS}")


def _read_text(told: str) -> date:
    """A datetime, or a date where no more is told."""
    for read in (date.fromisoformat, datetime.fromisoformat):
        with suppress(ValueError):
            return read(told)
    raise GraderError(f"{told!r} is no time. {_FORMS}")


_FORMS = "Times are like 2026-10-05 23:59, or 2026-10-05 for the end of that day"


def _readings(when: datetime, local: ZoneInfo) -> tuple[datetime, datetime]:
    """The UTC of a local time, by the clock before and by the clock after a change."""
    first, second = (when.replace(tzinfo=local, fold=fold).astimezone(UTC).replace(tzinfo=None) for fold in (0, 1))
    return first, second


def _local(utc: datetime, local: ZoneInfo) -> datetime:
    return utc.replace(tzinfo=UTC).astimezone(local)


def days_after(utc: datetime, days: int, local: ZoneInfo) -> datetime:
    """The UTC of the same local time some days later; where the clock shows that never or twice, the later reading."""
    return max(_readings(_local(utc, local).replace(tzinfo=None, fold=0) + timedelta(days=days), local))


def days_late(due: datetime, arrived: datetime, local: ZoneInfo) -> int:
    """How many days, begun ones counted, lie between two UTC times; 0 where the second is not after the first."""
    if arrived <= due:
        return 0
    days = max(1, (arrived - due) // timedelta(days=1) - 1)
    while days_after(due, days, local) < arrived:
        days += 1
    return days


def shown(utc: datetime, local: ZoneInfo) -> str:
    """A UTC time in words: the local time and the zone's short name."""
    return f"{_local(utc, local):%Y-%m-%d %H:%M %Z}"
