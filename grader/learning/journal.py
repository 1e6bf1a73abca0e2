"""The learner's record: append-only JSON Lines in `.grader/progress.jsonl` beside the lessons.

One event a line. A line that cannot be read costs that line only; a folder that cannot be written costs the
record, never the check or the hint that wanted to be recorded: such events are kept in memory until the
kernel stops.
"""

from __future__ import annotations

import errno
import json
import math
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Event", "Log", "append", "find_record", "load"]

Event = dict[str, Any]
"""`kind` (check, hint, solution, restore, reset or undo), `exercise` (its id), `at` (UTC), and what the kind adds."""

_RECORD = Path(".grader") / "progress.jsonl"
_unrecorded: list[Event] = []
_said: set[str] = set()


@dataclass
class Log:
    """What the record holds, oldest first, and in words what could not be read or written."""

    events: list[Event] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def find_record(start: Path | None = None) -> Path | None:
    """Where the record belongs, seen from a folder (default: this one); None where nothing is to be recorded.

    That is the nearest folder upwards that has a `.grader`, else this folder if it has notebooks (the one
    above if it holds a single fetched lesson and is named after it). A grading run records nothing.
    """
    if "GRADER_CLASS_SECRET" in os.environ:
        return None
    try:
        here = start if start is not None else Path.cwd()
        for folder in (here, *here.parents):
            if (folder / _RECORD.parent).exists():
                return folder / _RECORD
        if (here / f"{here.name}.ipynb").is_file():  # a class folder: 02_relu/02_relu.ipynb
            return here.parent / _RECORD
        return here / _RECORD if any(here.glob("*.ipynb")) else None
    except OSError:
        return None


def append(event: Event) -> None:
    """Add an event to the record, or to memory if there is none; one that cannot be written is said once."""
    event = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **event}
    path = find_record()
    if path is None:
        _unrecorded.append(event)
        return
    try:
        path.parent.mkdir(exist_ok=True)
        _append_line(path, json.dumps(event).encode())
    except OSError as error:
        _unrecorded.append(event)
        _say_once(_cannot_write(path, error))


def _append_line(path: Path, line: bytes) -> None:
    """Append in one write, so that two notebooks at once do not mix; after a torn line start a new one.

    Two that find the same torn line both start anew: an empty line, which nobody reads. A line that is written
    in part (a full disk) is an error here and skipped when the record is read.
    """
    with open(path, "a+b", buffering=0) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                line = b"\n" + line
        if file.write(line + b"\n") <= len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def load() -> Log:
    """Everything recorded so far, this session's unrecorded events last."""
    log = Log()
    path = find_record()
    if path is not None and os.path.lexists(path):
        try:
            _read(path, log)
        except OSError as error:
            log.problems.append(f"Cannot read {path} ({error.strerror}); earlier progress is not shown.")
    log.events += _unrecorded
    if _unrecorded:
        why = f"{path} cannot be written" if path else "there are no lessons in the current folder"
        log.problems.append(f"Not recorded, so gone when the kernel stops: {why}.")
    return log


def _read(path: Path, log: Log) -> None:
    broken = []
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            event = _parse(line)
            if event is None:
                broken.append(number)
            else:
                log.events.append(event)
    if broken:
        which = ", ".join(map(str, broken[:5])) + (", ..." if len(broken) > 5 else "")
        log.problems.append(f"{path}: skipped what could not be read (line {which}); the rest counts.")


def _parse(line: bytes) -> Event | None:
    """The event on a line; None if it is no JSON or lacks what its kind needs."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("exercise"), str):
        return None
    kind = event.get("kind")
    if kind == "check" and not (isinstance(event.get("passed"), bool) and _is_number(event.get("points"))):
        return None
    if kind == "hint" and not (_is_number(event.get("number")) and event["number"] >= 1):
        return None
    if kind == "check" and not isinstance(event.get("code", ""), str):
        return None
    return event if isinstance(kind, str) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _cannot_write(path: Path, error: OSError) -> str:
    return (
        f"Progress is not being recorded: {path} cannot be written ({error.strerror}). "
        "Checks and hints work all the same."
    )


def _say_once(text: str) -> None:
    """To stdout: text on stderr would spoil a graded cell."""
    if text not in _said:
        _said.add(text)
        print(text)
