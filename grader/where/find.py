"""`find_where`: which picture shows where an answer goes wrong, if any does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal

import torch

from grader.guard import TimeLimit, one_thread, original_torch
from grader.subject import Args, Layout, Observation, Probe, Subject
from grader.where.curves import curves
from grader.where.matrices import jacobians, values
from grader.where.model import Where

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.report import Report

__all__ = ["find_where"]

SECONDS = 1.0  # of the processor; what takes longer is not worth a picture
MOST_PROBES = 48
_NO_PICTURE = {"exercise", "kind", "runs", "torch_untouched"}
_SHOWN = {
    *("value", "forward", "forward_at_kinks", "forward_elsewhere", "vjp", "vjp_elsewhere", "gradcheck", "surrogate"),
    *("kinks", "upstream_linearity"),
}
"""Checks of values at ordinary inputs. What only others find (layout, state, memory, ...) shows in no picture."""


def find_where(exercise: Exercise, subject: Subject, report: Report) -> Where | None:
    """Where the implementation behind `subject`, judged as `report`, goes wrong; None where no picture shows it.

    Never raises. The inputs are the same for everyone and every seed; at most MOST_PROBES probes of small tensors are
    asked, in a few requests, within SECONDS of processor time.
    """
    failed = {f.check for f in report.failed}
    if report.passed or not report.started or _NO_PICTURE & failed:
        return None
    if not failed & (_SHOWN | {c.id for c in exercise.checks}):
        return None
    try:
        with one_thread(), original_torch(), torch.random.fork_rng(devices=[]), subject.watched(SECONDS) as patched:
            torch.manual_seed(0)
            found = _find(exercise, _Sparing(subject))
    except (Exception, TimeLimit):  # a picture is a help; a verdict stands without it
        return None
    return None if patched else found


class _Sparing:
    """A subject that is asked no more than MOST_PROBES."""

    def __init__(self, subject: Subject) -> None:
        self._subject, self._left = subject, MOST_PROBES
        self.is_function, self.distant = subject.is_function, subject.distant

    def observe(self, probe: Probe) -> Observation:
        return self.observe_each((probe,))[0]

    def observe_each(self, probes: Sequence[Probe]) -> list[Observation]:
        self._spend(len(probes))
        return self._subject.observe_each(probes)

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        self._spend(1)
        return self._subject.call(args, layout, before)

    def claims(self, rule: Literal["vmap", "jvp"]) -> bool:
        return self._subject.claims(rule)

    def watched(self, seconds: float) -> AbstractContextManager[list[str]]:
        return self._subject.watched(seconds)

    def _spend(self, probes: int) -> None:
        self._left -= probes
        if self._left < 0:
            raise _Enough


class _Enough(Exception):
    """So many probes are not worth a picture."""


def _find(exercise: Exercise, subject: Subject) -> Where | None:
    if exercise.contract.random or exercise.digest is not None:
        return None  # many values are right: there is nothing to compare with
    if exercise.reference.vjp is None:
        return values(exercise, subject)
    return curves(exercise, subject) or jacobians(exercise, subject)
