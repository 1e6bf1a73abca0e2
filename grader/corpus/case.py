"""What a corpus case is, and the decorators that collect them.

A case is written as a class (or a plain function, where the implementation is no Function at all) under one
of the decorators, in the module of its family in `grader/corpus/families/`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from grader.exercise import source_as

__all__ = ["CASES", "Case", "right", "wrong"]

Thing = TypeVar("Thing")
PREAMBLE = """import math
import threading

import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


"""


@dataclass(frozen=True)
class Case:
    """One implementation whose verdict is known.

    exercise  id of the exercise it is judged as, of the course ("relu") or the corpus ("corpus/layernorm")
    name      short snake_case name, unique within the exercise and its kind
    right     whether it must be accepted
    note      one line: the symptom of a wrong one, the style of a right one
    thing     an autograd.Function class, or a function composed of torch operations
    """

    exercise: str
    name: str
    right: bool
    note: str
    thing: Any = field(repr=False)

    @property
    def id(self) -> str:
        return f"{self.exercise}:{self.name}"

    def file_text(self, symbol: str) -> str:
        """A Python file that defines the implementation as `symbol`, for the command line."""
        return PREAMBLE + source_as(symbol, self.thing)


CASES: list[Case] = []


def wrong(exercise: str, name: str, symptom: str) -> Callable[[Thing], Thing]:
    """Decorator: a wrong implementation; `symptom` is what its author would see, or fail to see."""
    return _collect(exercise, name, False, symptom)


def right(exercise: str, name: str, style: str = "") -> Callable[[Thing], Thing]:
    """Decorator: a right implementation of the exercise, in the style described."""
    return _collect(exercise, name, True, style)


def _collect(exercise: str, name: str, is_right: bool, note: str) -> Callable[[Thing], Thing]:
    def add(thing: Thing) -> Thing:
        CASES.append(Case(exercise, name, is_right, note, thing))
        return thing

    return add
