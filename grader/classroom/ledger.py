"""The open gradebook of a run: nbgrader's session, one transaction for a batch, patience with other programs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from alembic.script import ScriptDirectory
from nbgrader import api
from nbgrader.api import Gradebook
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import ArgumentError, OperationalError

from grader.errors import GraderError

__all__ = ["Ledger", "called", "open_gradebook", "patiently"]

PATIENCE = 30.0  # seconds to wait for a program that holds the gradebook
LONGEST_WAIT = 4.0
WRITING = 0x67726164  # PostgreSQL's number of "a grader is writing": one batch at a time, as SQLite has it anyway
POSTGRES_BUSY = ("55P03", "40P01")  # lock_not_available, deadlock_detected
Result = TypeVar("Result")


def open_gradebook(url: str, course_id: str = "default_course") -> Gradebook:
    """nbgrader's gradebook, with its tables made where there are none. GraderError when it cannot be reached.

    nbgrader would start the command `alembic` to learn the version of the tables, which takes seconds and
    fails where the command is not on PATH; the library tells the same at once.
    """
    asked = api.get_alembic_version
    scripts = ScriptDirectory(str(Path(api.__file__).parent / "alembic"))
    head = str(scripts.get_current_head())
    api.get_alembic_version = lambda: head
    try:
        return patiently(url, lambda: _current(Gradebook(url, course_id), url, head))
    except OperationalError as error:
        raise GraderError(
            f"the gradebook {called(url)} cannot be opened: {str(error.orig).strip()}. Likely cause: a full disk, a "
            "damaged file, a server that does not run, or a wrong c.CourseDirectory.db_url in nbgrader_config.py"
        ) from error
    except (ArgumentError, ModuleNotFoundError) as error:
        raise GraderError(
            f"c.CourseDirectory.db_url in nbgrader_config.py cannot be used: {error}. For PostgreSQL it is like "
            "postgresql+psycopg://USER:PASSWORD@HOST/DATABASE, and needs: pip install -c constraints.txt '.[postgres]'"
        ) from error
    finally:
        api.get_alembic_version = asked


def _current(gradebook: Gradebook, url: str, head: str) -> Gradebook:
    """The gradebook, if its tables are those of this nbgrader."""
    found = gradebook.db.scalar(text("SELECT version_num FROM alembic_version"))
    gradebook.db.remove()
    if found != head:
        gradebook.close()
        raise GraderError(
            f"the gradebook {called(url)} was made by another version of nbgrader (its tables are {found}, this one's "
            f"{head}). Bring it up to date: nbgrader db upgrade, in the class folder; it keeps a copy of the old one"
        )
    return gradebook


class Ledger:
    """A gradebook held open. `db` is nbgrader's session; what is in memory is forgotten after each batch.

    before_change: called once, before the first change is made; what it raises ends the batch.
    """

    def __init__(self, url: str, course_id: str, before_change: Callable[[], object] | None = None) -> None:
        self.url = url
        self.gradebook = open_gradebook(url, course_id)
        self.db: Any = self.gradebook.db
        self._mark: Any = None
        self._before_change = before_change
        if before_change is not None:
            event.listen(self.db, "before_flush", self._changing)

    def close(self) -> None:
        self.gradebook.close()

    def batch(self, action: Callable[[], Result]) -> Result:
        """Do `action` in one transaction. It is done again from its start when another program is in the way.

        GraderError, and nothing entered, when that program does not let go for 30 seconds.
        """

        def once() -> Result:
            try:
                self._begin()
                result = action()
                self.db.commit()
                return result
            finally:
                self.db.remove()  # rolls back what was not committed; keeps memory flat

        return patiently(self.url, once)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """What is done inside is entered as a whole or, when it raises, not at all; the batch goes on."""
        self._mark = self.db.begin_nested()
        try:
            yield
            self._mark.commit()
        except BaseException:
            if self._mark.is_active:
                self._mark.rollback()
            raise

    @contextmanager
    def handed_over(self) -> Iterator[None]:
        """Inside `alone`: commit, so that other code finds everything entered so far and may write itself."""
        self._mark.commit()
        self.db.commit()
        try:
            yield
        finally:
            self._begin()
            self._mark = self.db.begin_nested()

    def _changing(self, *_: object) -> None:
        if self._before_change is not None:
            self._before_change()
            self._before_change = None

    def _begin(self) -> None:
        """SQLite would begin at the first change, and end at the first savepoint: begin in so many words."""
        if self.db.get_bind().dialect.name == "sqlite":
            self.db.execute(text("BEGIN IMMEDIATE"))
        elif self.db.get_bind().dialect.name == "postgresql":
            self.db.execute(text(f"SET LOCAL lock_timeout = '{PATIENCE:g}s'"))
            self.db.execute(text(f"SELECT pg_advisory_xact_lock({WRITING})"))


def patiently(url: str, action: Callable[[], Result]) -> Result:
    """The result of `action`, tried again with growing waits while another program holds the gradebook."""
    deadline, wait = time.monotonic() + PATIENCE, 0.1
    while True:
        try:
            return action()
        except OperationalError as error:
            if not _is_locked(error):
                raise
            if time.monotonic() > deadline:
                raise GraderError(_who(url)) from error
        time.sleep(wait)
        wait = min(2 * wait, LONGEST_WAIT)


def _is_locked(error: OperationalError) -> bool:
    """Whether the database refused because another program has the gradebook."""
    return "locked" in str(error.orig) or getattr(error.orig, "sqlstate", None) in POSTGRES_BUSY


def called(url: str) -> str:
    """A gradebook's file, or its address without the password."""
    return url.removeprefix("sqlite:///") if url.startswith("sqlite:///") else make_url(url).render_as_string()


def _who(url: str) -> str:
    found = _holders(Path(called(url)))
    whom = f" These programs have it open: {', '.join(found)}." if found else ""
    return (
        f"{called(url)} has been locked by another program for {PATIENCE:g} s.{whom} Probably the formgrader, an "
        "nbgrader command, another grader or a database browser is in the middle of a change. Nothing was lost: close "
        "it or wait until it has finished, then run this again."
    )


def _holders(path: Path) -> list[str]:
    """Other processes that have `path` open, where the system tells (Linux, own processes)."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) != os.getpid() and _has_open(process, path):
                name = (process / "comm").read_text().strip()
                found.append(f"{name} (process {process.name})")
        except OSError:  # ended, or somebody else's
            continue
    return sorted(found)


def _has_open(process: Path, path: Path) -> bool:
    return any(os.readlink(handle) == str(path) for handle in (process / "fd").iterdir())
