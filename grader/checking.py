"""`check`: the learner's instant verdict on what they just wrote."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from grader.battery import PUBLIC_SEED, judge
from grader.exercise import Exercise
from grader.local import LocalSubject, what_is
from grader.report import Finding, Report
from grader.subject import Description, Elsewhere
from grader.warm import warm_aloud

__all__ = ["check", "verdict", "with_where"]

_HIDDEN = "In a grading run the hidden test judges, not check()."


def check(exercise: str, thing: Any) -> Report:
    """Run the full battery with public seeds on `thing`, a Function class or a plain function.

    Never raises on wrong student code and never writes to stderr. An unknown exercise id gives a report
    that says so. In a grading run it judges nothing: the hidden test of the same cell does.
    """
    from grader import exercises
    from grader.errors import GraderError
    from grader.learning.progress import record_check

    try:
        found = exercises.get(exercise)
        if "GRADER_CLASS_SECRET" in os.environ:
            return Report(found.id, found.title, False, 0.0, found.points, (), started=False, remarks=(_HIDDEN,))
        if found.kind == "function":
            warm_aloud()
        report = with_where(found, thing, verdict(found, thing, PUBLIC_SEED))
    except GraderError as error:
        return Report(str(exercise), str(exercise), False, 0.0, 0, (Finding("exercise", False, str(error)),))
    record_check(report, thing)
    return report


def verdict(exercise: Exercise, thing: Any, seed: int, *, diagnose: bool = True) -> Report:
    """The report on `thing`, also where it is not the kind of thing the exercise asks for."""
    remote = isinstance(thing, Elsewhere)
    problem = _unfit(exercise, thing.description if remote else what_is(thing))
    if problem:
        return _nothing(exercise, Finding("kind", False, problem))
    if remote:
        return judge(exercise, thing.subject(), seed, diagnose=diagnose)
    try:
        return judge(exercise, LocalSubject(thing), seed, diagnose=diagnose)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a class can be built so that the mere sight of it raises
        text = f"{exercise.symbol} could not be judged: {type(error).__name__} was raised while it was looked at."
        return _nothing(exercise, Finding("runs", False, text))


def with_where(exercise: Exercise, thing: Any, report: Report) -> Report:
    """The report on `thing`, and what a picture of its mistake is drawn from."""
    if report.passed or not report.started:
        return report
    from grader.where.find import find_where

    try:
        subject = thing.subject() if isinstance(thing, Elsewhere) else LocalSubject(thing)
        return replace(report, where=find_where(exercise, subject, report))
    except Exception:  # a class can be built so that the mere sight of it raises
        return report


def _nothing(exercise: Exercise, finding: Finding) -> Report:
    return Report(exercise.id, exercise.title, False, 0.0, exercise.points, (finding,))


def _unfit(exercise: Exercise, it: Description) -> str:
    """Why a thing cannot be checked as this exercise, or ""."""
    name = exercise.symbol
    what = "None" if it.type == "NoneType" else f"{'an' if it.type[:1] in 'aeiouAEIOU' else 'a'} {it.type}"
    if it.kind == "missing":
        return f"{name} is not defined{it.why}."
    if exercise.kind == "plain":
        if it.kind in ("function class", "class", "value"):
            return f"{name} must be a function; it is {what}. Define it with `def {name}(...)`."
        return ""
    if it.kind == "instance":
        return f"You passed an instance of {name}. Pass the class itself: check({exercise.id!r}, {name})."
    if it.kind == "apply":
        return f"You passed {name}.apply. Pass the class itself: check({exercise.id!r}, {name})."
    if it.kind == "class":
        return (
            f"{name} is a class, but not derived from torch.autograd.Function. Likely cause: the base class is "
            f"missing or it is an nn.Module. Write `class {name}(Function):`."
        )
    if it.kind != "function class":
        return f"{name} must be a class derived from torch.autograd.Function; it is {what}."
    return ""
