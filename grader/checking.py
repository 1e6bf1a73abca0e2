"""`check`: the learner's instant verdict on what they just wrote."""

from __future__ import annotations

from typing import Any

from torch.autograd import Function

from grader.battery import PUBLIC_SEED, judge
from grader.exercise import Exercise
from grader.local import LocalSubject
from grader.report import Finding, Report

__all__ = ["check", "verdict"]


def check(exercise: str, thing: Any) -> Report:
    """Run the full battery with public seeds on `thing`, a Function class or a plain function.

    Never raises on wrong student code and never writes to stderr. An unknown exercise id gives a report
    that says so.
    """
    from grader import exercises
    from grader.errors import GraderError
    from grader.learning.progress import record_check

    try:
        report = verdict(exercises.get(exercise), thing, PUBLIC_SEED)
    except GraderError as error:
        return Report(str(exercise), str(exercise), False, 0.0, 0, (Finding("exercise", False, str(error)),))
    record_check(report)
    return report


def verdict(exercise: Exercise, thing: Any, seed: int, *, diagnose: bool = True) -> Report:
    """The report on `thing`, also where it is not the kind of thing the exercise asks for."""
    problem = _unfit(exercise, thing)
    if problem:
        return Report(
            exercise.id, exercise.title, False, 0.0, exercise.points, (Finding("kind", False, problem),)
        )
    return judge(exercise, LocalSubject(thing), seed, diagnose=diagnose)


def _unfit(exercise: Exercise, thing: Any) -> str:
    """Why `thing` cannot be checked as this exercise, or ""."""
    name = exercise.symbol
    if exercise.kind == "plain":
        if isinstance(thing, type) or not callable(thing):
            return f"{name} must be a function; it is {_what(thing)}. Define it with `def {name}(...)`."
        return ""
    if isinstance(thing, Function) or (isinstance(type(thing), type) and isinstance(thing, Function)):
        return f"You passed an instance of {name}. Pass the class itself: check({exercise.id!r}, {name})."
    if getattr(thing, "__name__", "") == "apply" and isinstance(getattr(thing, "__self__", None), type):
        return f"You passed {name}.apply. Pass the class itself: check({exercise.id!r}, {name})."
    if not isinstance(thing, type):
        return f"{name} must be a class derived from torch.autograd.Function; it is {_what(thing)}."
    if not issubclass(thing, Function):
        return (
            f"{name} is a class, but not derived from torch.autograd.Function. Likely cause: the base class is missing "
            f"or it is an nn.Module. Write `class {name}(Function):`."
        )
    return ""


def _what(thing: Any) -> str:
    return "None" if thing is None else f"a {type(thing).__name__}"
