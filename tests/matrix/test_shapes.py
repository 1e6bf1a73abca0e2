"""No verdict on an elementwise operation depends on the shape of its input."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.battery import run_checks
from grader.exercise import Args, Exercise
from grader.inputs import Draw
from grader.local import LocalSubject
from grader.matrix import Known, all_exercises, implementations

Shape = tuple[int, ...]
ANY = st.lists(st.integers(1, 5), max_size=4).map(tuple).filter(lambda s: math.prod(s) <= 60)
# Large enough that a sample shows every piece of a piecewise operation, and has a transpose of its own.
TELLING = st.lists(st.integers(2, 5), min_size=2, max_size=4).map(tuple).filter(lambda s: 6 <= math.prod(s) <= 60)
FEW = settings(max_examples=2, derandomize=True, deadline=None, database=None)
MANY = settings(max_examples=8, derandomize=True, deadline=None, database=None)


def is_elementwise(exercise: Exercise) -> bool:
    """One tensor in, one of the same shape out, and the same values whatever that shape is."""
    if exercise.kind != "function" or exercise.outputs > 1 or exercise.contract.random:
        return False
    x, *others = exercise.inputs.generic(Draw(1))
    if any(isinstance(a, Tensor) for a in others):
        return False
    y = exercise.reference.forward(x, *others)
    return y.shape == x.shape and torch.equal(exercise.reference.forward(x.flatten(), *others), y.flatten())


ELEMENTWISE = [e for e in all_exercises().values() if is_elementwise(e)]
IDS = [e.id for e in ELEMENTWISE]


def shaped(exercise: Exercise, shape: Shape) -> Exercise:
    """The exercise with ordinary samples of this shape, drawn from the same values."""

    def generic(draw: Draw) -> Args:
        _, *others = exercise.inputs.generic(draw)
        drawn = torch.cat([exercise.inputs.generic(draw)[0].flatten() for _ in range(math.prod(shape) // 6 + 1)])
        return (drawn[: math.prod(shape)].reshape(shape), *others)

    return replace(exercise, inputs=replace(exercise.inputs, generic=generic))


def accepted(known: Known, shape: Shape) -> bool:
    return not run_checks(shaped(known.exercise, shape), LocalSubject(known.thing), sum(shape)).failed


@cache
def wrong_ones(id: str) -> list[Known]:
    return [k for k in implementations(all_exercises()[id]) if not k.right]


def right_ones(exercise: Exercise) -> list[Known]:
    return [k for k in implementations(exercise) if k.right]


def test_there_are_elementwise_exercises() -> None:
    assert {"relu", "fake_quantize", "corpus/power"} <= set(IDS)
    assert "corpus/softmax" not in IDS


@pytest.mark.parametrize("exercise", ELEMENTWISE, ids=IDS)
@FEW
@given(shape=ANY)
def test_right_in_every_shape(exercise: Exercise, shape: Shape) -> None:
    assert accepted(right_ones(exercise)[0], shape)


@pytest.mark.parametrize("exercise", ELEMENTWISE, ids=IDS)
@FEW
@given(shape=TELLING)
def test_wrong_in_every_shape(exercise: Exercise, shape: Shape) -> None:
    assert not accepted(wrong_ones(exercise.id)[sum(shape) % len(wrong_ones(exercise.id))], shape)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ELEMENTWISE, ids=IDS)
@MANY
@given(shape=ANY)
def test_all_right_in_every_shape(exercise: Exercise, shape: Shape) -> None:
    assert [k.name for k in right_ones(exercise) if not accepted(k, shape)] == []


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ELEMENTWISE, ids=IDS)
@settings(MANY, max_examples=5)
@given(shape=TELLING)
def test_all_wrong_in_every_shape(exercise: Exercise, shape: Shape) -> None:
    assert [k.name for k in wrong_ones(exercise.id) if accepted(k, shape)] == []
