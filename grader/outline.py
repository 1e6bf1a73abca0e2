"""What there is to say of the exercises, without loading them: to load them is to load torch, for a second or more.

It is kept in `outline.json`, which `grader build` writes from the exercises and `grader build --check` compares.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["FILE", "Outline", "outlines", "written"]

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Outline:
    """One exercise. `mistakes`: what each of its misconceptions says to its author, by id."""

    id: str
    symbol: str
    lesson: str
    title: str
    kind: str
    points: int
    hints: tuple[str, ...]
    mistakes: Mapping[str, str]


@lru_cache(maxsize=1)
def outlines() -> Mapping[str, Outline]:
    """Every exercise of the course by id, in the order of the lessons."""
    found = json.loads(FILE.read_text("utf-8"))
    made = (Outline(**{**one, "hints": tuple(one["hints"])}) for one in found)
    return MappingProxyType({one.id: one for one in made})


def written() -> str:
    """The text that `outline.json` should hold."""
    from grader.exercises import catalogue
    from grader.transforms import found_out

    def of(exercise: Exercise) -> Outline:
        mistakes = (*exercise.written_misconceptions, *found_out(exercise))
        return Outline(
            exercise.id,
            exercise.symbol,
            exercise.lesson,
            exercise.title,
            exercise.kind,
            exercise.points,
            exercise.hints,
            {mistake.id: mistake.sentence for mistake in mistakes},
        )

    return json.dumps([asdict(of(one)) for one in catalogue().values()], indent=1, ensure_ascii=False) + "\n"
