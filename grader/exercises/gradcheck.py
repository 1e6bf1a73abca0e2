"""Lesson 04: trust, but verify. The exercises stand in the modules gradcheck_*.py."""

from __future__ import annotations

from grader.exercise import Exercise
from grader.exercises.gradcheck_bugs import name_the_bug
from grader.exercises.gradcheck_inputs import choose_inputs
from grader.exercises.gradcheck_mul import fix_mul
from grader.exercises.gradcheck_norm import fix_norm
from grader.exercises.gradcheck_numerical import numerical_vjp
from grader.exercises.gradcheck_own import my_gradcheck
from grader.exercises.gradcheck_tanh import fix_tanh
from grader.exercises.gradcheck_upstream import upstream_linear

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
