"""The implementations of known verdict, and samples of them for the fast suite."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from grader.battery import checks_of
from grader.contract.bench import Bench
from grader.contract.check import Check, Failed
from grader.guard import TimeLimit, one_thread, time_limit
from grader.local import LocalSubject
from grader.matrix import Known, Row, all_exercises, implementations, judged

__all__ = ["accepted", "every", "everything", "row"]


@cache
def everything() -> tuple[Known, ...]:
    """Every implementation of known verdict, of the course and of the corpus."""
    return tuple(known for exercise in all_exercises().values() for known in implementations(exercise))


def every(step: int, start: int = 0) -> Sequence[Known]:
    """A sample that touches every exercise and origin: each `step`-th implementation from `start`."""
    return everything()[start::step]


@cache
def row(known: Known) -> Row:
    """The row of the matrix for one implementation, judged once per session."""
    return judged(known)


def accepted(known: Known, seed: int) -> bool:
    """The verdict with this seed. Stops at the first check that rejects; those that did with the public seed come
    first."""
    likely = () if known.right else row(known).rejected_by
    checks = sorted(checks_of(known.exercise), key=lambda check: check.id not in likely)
    with one_thread():
        return all(_passes(known, check, seed) for check in checks)


def _passes(known: Known, check: Check, seed: int) -> bool:
    try:
        with time_limit(20.0):
            check.run(Bench(known.exercise, LocalSubject(known.thing), seed, check.id))
    except (Failed, TimeLimit):
        return False
    return True
