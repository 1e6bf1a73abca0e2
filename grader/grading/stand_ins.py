"""What a submission's process has in place of this package: names that learners leave in their cells, doing nothing.

A submission is judged in another process; nothing here knows an answer. Figures of the lessons are not drawn, for
nobody looks at them.
"""

from __future__ import annotations

import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["NotJudgedHere", "hide_package", "package_names"]


class NotJudgedHere:
    """What check() and its like return here: it says yes to everything, and nobody reads it."""

    passed = True
    points = 0.0
    out_of = 0
    findings = failed = diagnosis = explanations = remarks = ()

    def to_dict(self) -> dict[str, Any]:
        return {}

    def text(self) -> str:
        return ""

    html = text

    def __repr__(self) -> str:
        return "(judged when the whole notebook has run)"


def _nothing(*_: Any, **__: Any) -> NotJudgedHere:
    return NotJudgedHere()


def _no_points(*_: Any, **__: Any) -> float:
    return 0.0


class _NotDrawn:
    """A figure, its axes, and whatever is asked of them."""

    def __getattr__(self, name: str) -> _NotDrawn:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> _NotDrawn:
        return self

    def __getitem__(self, _: Any) -> _NotDrawn:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __repr__(self) -> str:
        return "(figures are not drawn while grading)"


def _figure(columns: int = 1, rows: int = 1, **_: Any) -> tuple[_NotDrawn, Any]:
    """In the place of `plots.figure`: axes in the same arrangement."""
    axes = np.full((rows, columns), _NotDrawn(), dtype=object)
    return _NotDrawn(), axes.squeeze()[()]


_looked_at: tuple[int, list[str]] = (0, [])


def package_names() -> list[str]:
    """The modules of `grader` in this process.

    Asked in the warm process first: looking at a name copies its page in each child, so a child looks at new ones only.
    """
    global _looked_at
    count, names = _looked_at
    new = itertools.islice(reversed(sys.modules), max(0, len(sys.modules) - count))
    _looked_at = len(sys.modules), [*names, *(name for name in new if name.split(".")[0] == "grader")]
    return [name for name in _looked_at[1] if name in sys.modules]


def _not_shown(*_: Any, **__: Any) -> None:
    """In the place of an explorer."""


def hide_package() -> None:
    """Replace `grader` in this process. Modules that were imported before go on working for those who hold them."""
    for name in package_names():
        del sys.modules[name]
    names = ("check", "explain", "hint", "progress", "restore", "solution")
    package = _module("grader", **dict.fromkeys(names, _nothing))
    package.hidden = _module("grader.hidden", grade=_no_points)  # type: ignore[attr-defined]
    package.learning = _module("grader.learning")  # type: ignore[attr-defined]
    drawing = {"figure": _figure, "heat": _nothing, "chain": _nothing, "TEXT": "grey"}
    package.learning.plots = _module("grader.learning.plots", COLORS=("grey",) * 6, **drawing)
    package.learning.explorers = _module("grader.learning.explorers", __getattr__=lambda _: _not_shown)
    package.learning.track = _module("grader.learning.track", track=lambda items, *_, **__: items)


def _module(name: str, **names: Any) -> types.ModuleType:
    module = types.ModuleType(name, "A stand-in: the submission is judged in another process.")
    module.__path__ = []
    vars(module).update(names)
    sys.modules[name] = module
    return module
