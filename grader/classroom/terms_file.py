"""Writes class.toml: the text of a new one, and changes that leave all else in it, comments too, as it stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomlkit

from grader.classroom.clock import here
from grader.classroom.folder import write_atomically
from grader.classroom.terms import Terms, terms_of

__all__ = ["change_terms", "give_longer", "make_terms", "take_back"]

TEMPLATE = """\
# When lessons are due, who has longer, and what lateness costs. Yours to edit at any time of the term: the next
# `grader grade` takes it over, without running anything again, and shows you which points change.

timezone = "{timezone}"

[due]
# Local time: "2026-10-05 23:59"; a date alone means the end of that day. A lesson that is not named is never late.
{lessons}

[late]
# Nothing here: lateness costs nothing. A day begins at the time of day at which the lesson was due.
# per_day = "10%"         # for each day begun; or in points: per_day = 1
# percent_of = "earned"   # what a share is taken of: the points earned, or those "possible"
# at_most = "50%"         # no more than this is taken, and never more than was earned
# grace_minutes = 15      # so late is not late yet, on every day

[extensions]
# `grader extend` writes these; you can too:
# [extensions."ada"]
# "{example}" = "2026-10-12 23:59"
# "*" = "3 days"          # for every lesson that is due
"""


def make_terms(file: Path, lessons: list[str], timezone: str | None) -> None:
    """Write the file for a new class, with a line to fill in for each lesson."""
    lines = "\n".join(f'# "{lesson}" = "2026-10-05 23:59"' for lesson in lessons)
    example = lessons[0] if lessons else "02_relu"
    write_atomically(file, TEMPLATE.format(timezone=timezone or here(), lessons=lines, example=example))


def change_terms(file: Path, *, timezone: str | None = None, due: Mapping[str, str] | None = None) -> Terms:
    """Set the time zone and when lessons are due. GraderError, and no change, where a time is none."""

    def change(told: Any) -> None:
        if timezone is not None:
            told["timezone"] = timezone
        for lesson, when in (due or {}).items():
            _table(told, "due")[lesson] = when

    return _changed(file, change)


def give_longer(file: Path, student: str, lesson: str, until: str) -> Terms:
    """Write down an extension: a local time, or "3 days". GraderError, and no change, for what is neither."""

    def change(told: Any) -> None:
        _table(_table(told, "extensions"), student)[lesson] = until

    return _changed(file, change)


def take_back(file: Path, student: str, lesson: str) -> Terms:
    """Strike out an extension, which has to be there."""

    def change(told: Any) -> None:
        del told["extensions"][student][lesson]
        if not told["extensions"][student]:
            del told["extensions"][student]

    return _changed(file, change)


def _table(told: Any, name: str) -> Any:
    if name not in told:
        told[name] = tomlkit.table()
    return told[name]


def _changed(file: Path, change: Callable[[Any], None]) -> Terms:
    """Change the file; what could not be read again is not written."""
    old = file.read_text(encoding="utf-8-sig") if file.exists() else ""
    terms_of(old, file)
    told = tomlkit.parse(old)
    change(told)
    new = tomlkit.dumps(told)
    terms = terms_of(new, file)
    if new != old:
        write_atomically(file, new)
    return terms
