"""One submission as it travels to whoever grades it, and what comes back: plain data, whichever machine does it.

Nothing heavy is imported here: whoever sends work need not be able to do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from grader.grading.level import Level

__all__ = ["CodeCell", "Failed", "Graded", "Sandbox", "Work"]


@dataclass(frozen=True)
class CodeCell:
    """A code cell of a notebook. `points` is the most that a test cell can give; None: a cell of the submission."""

    name: str
    source: str
    points: float | None = None


@dataclass(frozen=True)
class Work:
    """A submission to grade.

    key            stands for all that its verdict depends on
    cells          its code cells in order, the instructor's test cells among them
    files          files of its working folder, by relative path
    secret         the class's, for the seeds of the hidden tests
    cell_seconds, seconds, restarts   as in `Submission`
    output         characters that a cell may show
    """

    key: str
    cells: tuple[CodeCell, ...]
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    secret: str = field(default="public", repr=False)
    cell_seconds: float = 30.0
    seconds: float = 300.0
    restarts: int = 8
    output: int = 100_000


@dataclass(frozen=True)
class Graded:
    """What came of it: for each of the work's cells its outputs, as Jupyter stores them, and the seconds it took."""

    key: str
    outputs: list[list[dict[str, Any]]]
    seconds: float


class Failed(str):
    """Why a submission could not be graded, which is not its fault."""


@dataclass(frozen=True)
class Sandbox:
    """Where students' code runs.

    level    None: the best that this machine has, and none at all only if `unsafe`
    shared   the address of a warm process of that level that serves several workers
    """

    level: Level | None = None
    unsafe: bool = False
    shared: str = ""
