"""Custom Autograd Functions: the learner's names. Everything else is imported from the modules below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["check", "explain", "hint", "progress", "restore", "solution"]

_HOME = {
    "check": "grader.checking",
    "explain": "grader.learning.explain",
    "hint": "grader.learning.hints",
    "progress": "grader.learning.progress",
    "restore": "grader.learning.restore",
    "solution": "grader.learning.solution",
}

if TYPE_CHECKING:
    from grader.checking import check
    from grader.learning.explain import explain
    from grader.learning.hints import hint
    from grader.learning.progress import progress
    from grader.learning.restore import restore
    from grader.learning.solution import solution


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line does not load torch for `grader --help`."""
    import importlib

    from grader.warm import warm_when_idle

    if name in _HOME:
        warm_when_idle()
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'grader' has no attribute {name!r}")
