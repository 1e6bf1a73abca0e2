"""`grade`: the one line of a hidden test cell. The same battery as `check`, with secret seeds, and points
as a number."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from grader import exercises
from grader.checking import verdict
from grader.grading.outputs import displayed
from grader.report import Report

__all__ = ["class_seed", "collected", "grade"]

_COLLECTED: ContextVar[list[tuple[Report, Any]] | None] = ContextVar("_COLLECTED", default=None)
_SECRET: ContextVar[str | None] = ContextVar("_SECRET", default=None)


@contextlib.contextmanager
def collected(secret: str | None = None) -> Iterator[list[tuple[Report, Any]]]:
    """The report of every `grade` in the block and the thing it judged, so that nobody reads them from what it prints.

    secret: the class's, in place of the environment's.
    """
    reports: list[tuple[Report, Any]] = []
    tokens = _COLLECTED.set(reports), _SECRET.set(secret)
    try:
        yield reports
    finally:
        _COLLECTED.reset(tokens[0])
        _SECRET.reset(tokens[1])


def class_seed(secret: str, exercise: str) -> int:
    """The seed of an exercise in a class: a keyed hash, so that a regrade repeats exactly and nobody can
    guess it."""
    key = hashlib.blake2b(secret.encode()).digest()
    return int.from_bytes(hashlib.blake2b(exercise.encode(), key=key, digest_size=7).digest(), "big")


def grade(exercise: str, thing: Any) -> float:
    """The points of `thing`, from 0 to the exercise's points, rounded to 2 digits.

    Prints the report, and displays Box B's JSON under `MIME` where there is a notebook, so that both stand
    in the feedback. Never raises on wrong student code. The seed comes from GRADER_CLASS_SECRET in the
    environment.
    """
    seed = class_seed(_SECRET.get() or os.environ.get("GRADER_CLASS_SECRET", "public"), exercise)
    report = verdict(exercises.get(exercise), thing, seed)
    print(report.text())
    reports = _COLLECTED.get()
    if reports is None:
        _publish(report)
    else:
        reports.append((report, thing))
    return float(report.points)


def _publish(report: Report) -> None:
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        return
    if get_ipython() is not None:
        display(displayed(report), raw=True)  # type: ignore[no-untyped-call]
