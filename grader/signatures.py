"""The checks that a known misconception fails, by which one is told from another where values cannot.

To find out is to run a battery. For the exercises of the course that was done beforehand: `grader matrix --write`
writes `signatures.json`, and a test compares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from grader.battery import PUBLIC_SEED, run_checks
from grader.exercise import Exercise
from grader.guard import one_thread, original_torch
from grader.local import LocalSubject

__all__ = ["FILE", "block", "signature", "write"]

FILE = Path(__file__).with_suffix(".json")
SEEDS = (PUBLIC_SEED, PUBLIC_SEED + 1, PUBLIC_SEED + 2)
"""A check that only some seeds' inputs make fail is no mark of a mistake."""


def signature(exercise: Exercise, misconception: str, seed: int) -> frozenset[str]:
    """The checks that a misconception of an exercise fails: with every seed, or, where it is not of the course, with
    this one."""
    known = _file().get(exercise.id, {}).get(misconception)
    return _failed(exercise, misconception, seed) if known is None else known


def block(exercise: Exercise) -> dict[str, str]:
    """What the file should hold of one exercise: for each misconception the checks in the order of their names."""
    with one_thread(), original_torch():
        return {
            m.id: " ".join(sorted(frozenset.intersection(*(_failed(exercise, m.id, seed) for seed in SEEDS))))
            for m in exercise.misconceptions
        }


def write(exercises: Iterable[Exercise]) -> None:
    """Write `signatures.json`, for these exercises."""
    FILE.write_text(json.dumps({e.id: block(e) for e in exercises}, indent=1) + "\n", "utf-8")
    _file.cache_clear()


@lru_cache(maxsize=1)
def _file() -> dict[str, dict[str, frozenset[str]]]:
    found = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    return {id: {m: frozenset(checks.split()) for m, checks in known.items()} for id, known in found.items()}


@lru_cache(maxsize=2048)
def _failed(exercise: Exercise, misconception: str, seed: int) -> frozenset[str]:
    thing = next(m.thing for m in exercise.misconceptions if m.id == misconception)
    return run_checks(exercise, LocalSubject(thing), seed).failed
