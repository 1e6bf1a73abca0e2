"""What a rule is, what it may look at beside the lesson, and what it reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from grader.lessons.source import Lesson

__all__ = ["Context", "ExerciseFacts", "Faults", "Problem", "Rule"]


class ExerciseFacts(Protocol):
    """What the rules need to know of an exercise."""

    @property
    def id(self) -> str: ...
    @property
    def lesson(self) -> str: ...
    @property
    def symbol(self) -> str: ...
    @property
    def points(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Context:
    """Beside the lesson: the exercises (None: not compared), the lessons' names, the notebooks' folder."""

    exercises: Mapping[str, ExerciseFacts] | None = None
    lessons: tuple[str, ...] = ()
    notebooks: Path | None = None


Faults = Iterator[tuple[int, str]]
"""(line in the file, what is wrong and what to do)."""


@dataclass(frozen=True)
class Problem:
    """One fault, printed as `file:line: [rule] what is wrong and what to do`."""

    rule: str
    where: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.where}: [{self.rule}] {self.message}"


@dataclass(frozen=True)
class Rule:
    """One rule. `build`: no notebook can be built before it holds."""

    id: str
    check: Callable[[Lesson, Context], Faults]
    build: bool = False

    @property
    def summary(self) -> str:
        """What the rule asks for, in one line: the first line of its function's docstring."""
        return (self.check.__doc__ or "").strip().splitlines()[0]
