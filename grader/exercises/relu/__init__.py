"""Lesson 02: a piecewise operation, and what to save for its backward. One module per exercise."""

from __future__ import annotations

from grader.exercises.relu.clamp import clamp
from grader.exercises.relu.leaky_relu import leaky_relu
from grader.exercises.relu.mask import relu_mask
from grader.exercises.relu.relu import relu
from grader.exercises.relu.swish import swish

__all__ = ["EXERCISES"]

EXERCISES = (relu, leaky_relu, clamp, relu_mask, swish)
