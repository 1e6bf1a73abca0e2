"""Copies of the gradebook: one before each run that changes it, and how one is brought back.

Each is a file in .grader/backups, named after the time it was made at, in UTC: gradebook-20261005T215900Z.db.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from grader.classroom.folder import ClassFolder
from grader.errors import GraderError

__all__ = ["NoBackup", "back_up", "backups", "is_file", "restore"]

NEWEST = 20  # kept in any case
DAYS = 100  # before those, the last of a day is kept, for so many days
NAME = re.compile(r"gradebook-(\d{8}T\d{6}Z(?:\.\d+)?)\.db")
BUSY = 10.0  # seconds to wait for a program that is writing


class NoBackup(GraderError):
    """The gradebook cannot be copied, so that nothing may be changed."""


def is_file(url: str) -> bool:
    """Whether the gradebook is a file that we copy; copies of a server's database (pg_dump) are the instructor's."""
    return url.startswith("sqlite:///")


def backups(folder: ClassFolder) -> dict[str, Path]:
    """The copies by their times, oldest first."""
    found = {match[1]: path for path in _place(folder).glob("*.db") if (match := NAME.fullmatch(path.name))}
    return dict(sorted(found.items(), key=lambda item: _order(item[0])))


def back_up(folder: ClassFolder, url: str) -> Path | None:
    """Copy the gradebook as it stands, while others may use it; None where there is none yet, or no file.

    NoBackup when it cannot be copied.
    """
    source = Path(url.removeprefix("sqlite:///"))
    if not (is_file(url) and source.exists() and source.stat().st_size):
        return None
    place = _place(folder)
    part = place / "part"
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        _copy(source, part)
        made = _free(place)
        os.replace(part, made)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise NoBackup(
            f"no copy of the gradebook could be made in {place}: {error}. Likely cause: a full or read-only disk. "
            "Nothing was entered, and every verdict is kept; when that is mended, run this again"
        ) from error
    _thin_out(folder)
    return made


def restore(folder: ClassFolder, url: str, when: str) -> tuple[str, Path]:
    """Bring back the copy whose time is, or begins with, `when`. The gradebook it replaces is copied before.

    Returns the copy's time and where the replaced one is. GraderError where there is not just one such copy, or
    another program is writing.
    """
    if not is_file(url):
        raise GraderError(
            "the gradebook is a database on a server: its copies are yours to make and bring back, by pg_dump and "
            "pg_restore"
        )
    known = backups(folder)
    exact = [each for each in known if each == when] or [each for each in known if when and each.startswith(when)]
    if len(exact) != 1:
        which = "several copies begin" if exact else "no copy begins"
        raise GraderError(f"{which} with {when!r}. The copies: grader restore-gradebook {folder.root}")
    chosen = known[exact[0]].read_bytes()  # before it may be thinned out
    kept = back_up(folder, url)
    aside = _place(folder) / "part"
    try:
        aside.write_bytes(chosen)
        _copy(aside, Path(url.removeprefix("sqlite:///")))
    except (OSError, sqlite3.Error) as error:
        raise GraderError(
            f"the copy was not brought back: {error}. The gradebook stays as it was. Close what has it open (the "
            "formgrader, an nbgrader command), see to the disk, and run this again"
        ) from error
    finally:
        aside.unlink(missing_ok=True)
    return exact[0], kept or known[exact[0]]


def _place(folder: ClassFolder) -> Path:
    return folder.private / "backups"


def _copy(source: Path, target: Path) -> None:
    """SQLite's own way: a whole state of the source, entered into the target as one change."""
    deadline = time.monotonic() + BUSY

    def wait(status: int, *_: int) -> None:  # without it Python would wait for ever
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise sqlite3.OperationalError(f"another program has had the database locked for {BUSY:g} s")

    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new, progress=wait)


def _free(place: Path) -> Path:
    """A name that says when; with a number where this second has a copy already."""
    stamp, number = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ"), 0
    path = place / f"gradebook-{stamp}.db"
    while path.exists():
        number += 1
        path = place / f"gradebook-{stamp}.{number}.db"
    return path


def _order(when: str) -> tuple[str, int]:
    stamp, _, number = when.partition(".")
    return stamp, int(number or 0)


def _thin_out(folder: ClassFolder) -> None:
    """Keep the newest, and of the days before them the last copy of each."""
    times = list(backups(folder).items())
    old = times[:-NEWEST]
    last_of_day = {when[:8]: path for when, path in old}
    kept = set(list(last_of_day.values())[-DAYS:])
    for _, path in old:
        if path not in kept:
            path.unlink(missing_ok=True)
