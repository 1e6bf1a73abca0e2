"""Lesson 04: trust, but verify. One module per exercise."""

from __future__ import annotations

from grader.exercise import Exercise
from grader.exercises.gradcheck.bugs import name_the_bug
from grader.exercises.gradcheck.inputs import choose_inputs
from grader.exercises.gradcheck.mul import fix_mul
from grader.exercises.gradcheck.norm import fix_norm
from grader.exercises.gradcheck.numerical import numerical_vjp
from grader.exercises.gradcheck.own import my_gradcheck
from grader.exercises.gradcheck.tanh import fix_tanh
from grader.exercises.gradcheck.upstream import upstream_linear

__all__ = ["EXERCISES"]

EXERCISES: tuple[Exercise, ...] = (
    numerical_vjp,
    my_gradcheck,
    choose_inputs,
    upstream_linear,
    name_the_bug,
    fix_tanh,
    fix_mul,
    fix_norm,
)
