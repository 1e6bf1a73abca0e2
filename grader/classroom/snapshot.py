"""The scores at the end of the last run and of the one before it, in .grader/runs.json: what changed between them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from grader.classroom.folder import ClassFolder, write_atomically

__all__ = ["Changed", "Since", "remember", "since_last_run"]

FILE = "runs.json"
Scores = dict[str, dict[str, float]]  # lesson -> student -> points


@dataclass(frozen=True)
class Changed:
    """A score before and now; `before` is None for one that is new, `now` for one that is gone."""

    student: str
    lesson: str
    before: float | None
    now: float | None


@dataclass(frozen=True)
class Since:
    """What changed since the run that ended at `when`, an ISO time in UTC; "" where there was none before."""

    when: str
    changed: list[Changed]


def remember(folder: ClassFolder, scores: Mapping[tuple[str, str], float]) -> None:
    """Keep the scores, by (student, lesson), as those of the run that ends now, and the last one's as those before."""
    kept = folder.read_json(FILE)
    now: dict[str, Any] = {"when": datetime.now(UTC).isoformat(timespec="seconds"), "scores": _nested(scores)}
    write_atomically(folder.private / FILE, json.dumps({"before": kept.get("last", {}), "last": now}))


def since_last_run(folder: ClassFolder, scores: Mapping[tuple[str, str], float]) -> Since:
    """How the scores, by (student, lesson), differ from those before the last run; the largest change first."""
    kept = folder.read_json(FILE).get("before") or {}
    if not kept.get("when"):
        return Since("", [])
    before = {(who, lesson): points for lesson, each in kept.get("scores", {}).items() for who, points in each.items()}
    keys = sorted({*before, *scores})
    found = [Changed(*key, before.get(key), _rounded(scores.get(key))) for key in keys]
    found = [change for change in found if change.before != change.now]
    return Since(kept["when"], sorted(found, key=lambda c: (c.before is None, -abs((c.now or 0) - (c.before or 0)))))


def _nested(scores: Mapping[tuple[str, str], float]) -> Scores:
    found: Scores = {}
    for (student, lesson), points in scores.items():
        found.setdefault(lesson, {})[student] = round(points, 2)
    return found


def _rounded(points: float | None) -> float | None:
    return None if points is None else round(points, 2)
