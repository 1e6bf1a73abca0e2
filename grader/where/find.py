"""`find_where`: which picture shows where an answer goes wrong, if any does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grader.guard import TimeLimit, one_thread, original_torch
from grader.subject import Subject
from grader.where.curves import curves
from grader.where.matrices import jacobians, values
from grader.where.model import Where

if TYPE_CHECKING:
    from grader.exercise import Exercise
    from grader.report import Report

__all__ = ["find_where"]

SECONDS = 3.0  # of the processor; what takes longer is not worth a picture
_NO_PICTURE = {"exercise", "kind", "runs", "torch_untouched"}


def find_where(exercise: Exercise, subject: Subject, report: Report) -> Where | None:
    """Where the implementation behind `subject`, judged as `report`, goes wrong; None where no picture shows it.

    Never raises. The inputs are the same for everyone and every seed; at most about a hundred probes of small tensors
    are asked, in a few requests, within SECONDS of processor time.
    """
    if report.passed or not report.started or _NO_PICTURE & {f.check for f in report.failed}:
        return None
    try:
        with one_thread(), original_torch(), torch.random.fork_rng(devices=[]), subject.watched(SECONDS) as patched:
            torch.manual_seed(0)
            found = _find(exercise, subject)
    except (Exception, TimeLimit):  # a picture is a help; a verdict stands without it
        return None
    return None if patched else found


def _find(exercise: Exercise, subject: Subject) -> Where | None:
    if exercise.contract.random or exercise.digest is not None:
        return None  # many values are right: there is nothing to compare with
    if exercise.reference.vjp is None:
        return values(exercise, subject)
    return curves(exercise, subject) or jacobians(exercise, subject)
