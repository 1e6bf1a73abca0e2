"""Versions of the hidden tests: since when a class has each, and which submissions were graded with which."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.outcome import Outcome

__all__ = ["TestSet", "graded_with", "remember"]

MEMORY = "test_sets.json"


@dataclass(frozen=True)
class TestSet:
    """One version of a lesson's tests. since: when a run met it first, in UTC; students: graded with it."""

    __test__ = False  # pytest would take it for one

    lesson: str
    version: str
    since: str
    now: bool
    students: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def remember(folder: ClassFolder, versions: Mapping[str, str]) -> None:
    """Note the time of versions that are new."""
    known = folder.read_json(MEMORY)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    told = {**known, **{version: known.get(version, now) for version in versions.values()}}
    if told != known:
        write_atomically(folder.private / MEMORY, json.dumps(told, indent=1) + "\n")


def graded_with(folder: ClassFolder, versions: Mapping[str, str], outcomes: Iterable[Outcome]) -> list[TestSet]:
    """For each lesson in `versions`, which are those of now, the versions that somebody was graded with, and that."""
    since = folder.read_json(MEMORY)
    students: dict[tuple[str, str], list[str]] = {(lesson, version): [] for lesson, version in versions.items()}
    for outcome in outcomes:
        if outcome.version and outcome.lesson in versions:
            students.setdefault((outcome.lesson, outcome.version), []).append(outcome.student)
    found = [
        TestSet(lesson, version, str(since.get(version, "")), versions[lesson] == version, sorted(names))
        for (lesson, version), names in students.items()
    ]
    return sorted(found, key=lambda each: (each.lesson, each.since))
