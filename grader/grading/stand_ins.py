"""What a submission's process has in place of this package: names that learners leave in their cells, doing nothing.

A submission is judged in another process; nothing here knows an answer. The figures of the lessons are the real ones.
"""

from __future__ import annotations

import sys
import types
from typing import Any

__all__ = ["NotJudgedHere", "hide_package"]

_PLOTS = "grader.learning.plots"


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


def hide_package() -> None:
    """Replace `grader` in this process. Modules that were imported before go on working for those who hold them."""
    plots = sys.modules.get(_PLOTS)
    for name in [n for n in sys.modules if n.split(".")[0] == "grader"]:
        del sys.modules[name]
    package = _module("grader", check=_nothing, hint=_nothing, explain=_nothing, progress=_nothing)
    package.hidden = _module("grader.hidden", grade=_no_points)  # type: ignore[attr-defined]
    package.learning = _module("grader.learning")  # type: ignore[attr-defined]
    if plots is not None:
        sys.modules[_PLOTS] = package.learning.plots = plots


def _module(name: str, **names: Any) -> types.ModuleType:
    module = types.ModuleType(name, "A stand-in: the submission is judged in another process.")
    module.__path__ = []
    vars(module).update(names)
    sys.modules[name] = module
    return module
