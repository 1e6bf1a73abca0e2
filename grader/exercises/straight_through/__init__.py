"""Lesson 03: gradients on purpose, that is, straight-through estimators and gradient reversal.

One module per exercise.
"""

from __future__ import annotations

from grader.exercise import Exercise
from grader.exercises.straight_through.binarize import binarize
from grader.exercises.straight_through.detach import ste_detach
from grader.exercises.straight_through.quantize import fake_quantize
from grader.exercises.straight_through.reverse import grad_reverse
from grader.exercises.straight_through.round import round_ste
from grader.exercises.straight_through.sign import sign_clipped
from grader.exercises.straight_through.training import train_binary

__all__ = ["EXERCISES"]

EXERCISES: tuple[Exercise, ...] = (
    binarize,
    sign_clipped,
    round_ste,
    fake_quantize,
    ste_detach,
    grad_reverse,
    train_binary,
)
