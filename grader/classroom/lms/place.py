"""Into submitted/, with nothing lost: what stood there is kept beside, and the same zip again changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.handed_in import ARRIVED, when
from grader.classroom.lms.archive import Member
from grader.classroom.lms.names import safe_name
from grader.classroom.lms.plan import Submission
from grader.errors import GraderError

__all__ = ["Outcome", "Placer"]

NEW, SAME, TIMED = "new", "same as before", "same as before, now with its time"
REPLACES, OLDER = "replaces the one before", "older than the one there"


@dataclass(frozen=True)
class Outcome:
    """What becomes of a submission (NEW, SAME, TIMED, REPLACES, OLDER), and where what does not count is kept."""

    submission: Submission
    what: str
    kept: str = ""


class Placer:
    """Puts submissions in their places. `decide` writes nothing; `place` does."""

    def __init__(self, folder: ClassFolder, source: str) -> None:
        self.folder, self.source = folder, source
        self.side = folder.private / "incoming"

    def decide(self, submission: Submission) -> Outcome:
        """What placing it would do."""
        place = self.folder.submitted(submission.student, submission.lesson)
        mine, there = _digest_of(submission), _digest_in(place)
        if there is None:
            return Outcome(submission, NEW)
        if there == mine:
            known = submission.when is None or when(place)[0] == _utc(submission.when)
            return Outcome(submission, SAME if known else TIMED)
        if self._is_older(submission, place, mine):
            return Outcome(submission, OLDER, self._shown(submission, mine))
        return Outcome(submission, REPLACES, self._shown(submission, there))

    def place(self, submissions: list[Submission]) -> list[Outcome]:
        """Place all of them. Everything is unpacked beside first, so that a full disk leaves every student's work as it
        was (GraderError). Hold the class."""
        outcomes = [self.decide(submission) for submission in submissions]
        shutil.rmtree(self.side, ignore_errors=True)
        try:
            for number, outcome in enumerate(outcomes):
                self._unpack(outcome, self.side / str(number))
            for number, outcome in enumerate(outcomes):
                self._finish(outcome, self.side / str(number))
        except OSError as error:
            raise GraderError(
                f"the work could not be written: {error.strerror}. What the class had is still there, under submitted/ "
                f"or in {self._kept_root()}; make room, then run this again"
            ) from None
        finally:
            shutil.rmtree(self.side, ignore_errors=True)
        return outcomes

    def _unpack(self, outcome: Outcome, side: Path) -> None:
        if outcome.what != SAME:
            _write(side / "new", outcome.submission.files)
            if outcome.submission.when is not None:
                (side / "new" / ARRIVED).write_text(f"{_utc(outcome.submission.when)} UTC\n", encoding="utf-8")
        for path, member in outcome.submission.kept.items():
            content = member.read()
            _write_file(side / "kept" / hashlib.sha256(content).hexdigest()[:12] / safe_name(path), content)

    def _finish(self, outcome: Outcome, side: Path) -> None:
        submission = outcome.submission
        place = self.folder.submitted(submission.student, submission.lesson)
        kept = self._kept(submission)
        for aside in (side / "kept").glob("*"):
            self._put(aside, kept / aside.name)
        if outcome.what == OLDER:
            self._put(side / "new", kept / _digest_of(submission))
        elif outcome.what == TIMED:
            os.replace(side / "new" / ARRIVED, place / ARRIVED)
        elif outcome.what in (NEW, REPLACES):
            if place.exists():
                self._put(place, kept / (_digest_in(place) or "empty"))
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(side / "new", place)
        if outcome.what != OLDER:
            self._remember(submission)

    def _put(self, folder: Path, place: Path) -> None:
        """Keep a folder under the digest of what is in it; what is kept already need not be kept twice."""
        if place.exists():
            shutil.rmtree(folder)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(folder, place)

    def _is_older(self, submission: Submission, place: Path, mine: str) -> bool:
        """Whether what is there was handed in later. Where nothing tells, what comes counts, unless it was replaced."""
        told = self._remembered(submission)
        if told.get("source") == self.source and told.get("digest") == _digest_in(place):
            orders = tuple(told.get("order", ())), submission.order
            if orders[0] and orders[1] and orders[0] != orders[1]:
                return orders[0] > orders[1]
        arrived, _ = when(place)
        if arrived is not None and submission.when is not None:
            return arrived > _utc(submission.when)
        return (self._kept(submission) / mine).exists()

    def _kept_root(self) -> Path:
        return self.folder.private / "kept"

    def _kept(self, submission: Submission) -> Path:
        return self._kept_root() / submission.student / submission.lesson

    def _shown(self, submission: Submission, digest: str) -> str:
        return str((self._kept(submission) / digest).relative_to(self.folder.root))

    def _record(self, submission: Submission) -> str:
        return f"imported/{submission.student}/{submission.lesson}.json"

    def _remembered(self, submission: Submission) -> dict[str, Any]:
        return self.folder.read_json(self._record(submission))

    def _remember(self, submission: Submission) -> None:
        told = {
            "source": self.source,
            "file": submission.shown,
            "called": submission.called,
            "order": list(submission.order),
            "late": submission.late,
            "when": submission.when.isoformat() if submission.when else None,
            "digest": _digest_of(submission),
        }
        write_atomically(self.folder.private / self._record(submission), json.dumps(told, ensure_ascii=False) + "\n")


def _utc(moment: datetime) -> datetime:
    """A moment as nbgrader keeps it: in UTC, without saying so."""
    return moment.astimezone(UTC).replace(tzinfo=None)


def _write(folder: Path, files: dict[str, Member]) -> None:
    folder.mkdir(parents=True)
    for path, member in files.items():
        _write_file(folder / path, member.read())


def _write_file(place: Path, content: bytes) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)


def _digest(files: dict[str, bytes]) -> str:
    told = [[path, hashlib.sha256(content).hexdigest()] for path, content in sorted(files.items())]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def _digest_of(submission: Submission) -> str:
    return _digest({path: member.read() for path, member in submission.files.items()})


def _digest_in(place: Path) -> str | None:
    """A digest of what is in a folder but the time; None where nothing is."""
    files = {str(p.relative_to(place)): p for p in place.rglob("*") if p.is_file() and not p.is_symlink()}
    files.pop(ARRIVED, None)
    return _digest({name: path.read_bytes() for name, path in files.items()}) if files else None
