"""Lesson 01: what backward computes, and the contract of torch.autograd.Function.

One module for each exercise or family of them.
"""

from __future__ import annotations

from grader.exercise import Exercise
from grader.exercises.contract.cube import cube
from grader.exercises.contract.exp import exp
from grader.exercises.contract.linear import linear
from grader.exercises.contract.quiz import who_calls_backward
from grader.exercises.contract.scale_by import scale_by
from grader.exercises.contract.vjp import vjp_matmul, vjp_softmax, vjp_square

__all__ = ["EXERCISES"]

EXERCISES: tuple[Exercise, ...] = (
    vjp_square,
    vjp_matmul,
    vjp_softmax,
    cube,
    exp,
    scale_by,
    linear,
    who_calls_backward,
)
