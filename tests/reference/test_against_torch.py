"""Every reference computes what PyTorch's own operation computes, forward and backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from grader.exercise import Exercise
from tests.reference import oracles

FUNCTIONS = pytest.mark.parametrize("exercise", oracles.functions(), ids=lambda e: e.id)
# PyTorch's fake_quantize rounds its scale to float32; its layer_norm loses digits at values far from zero.
LOOSER = {"fake_quantize": 1e-6, "corpus/layernorm": 1e-8}


def test_every_exercise_has_an_independent_source() -> None:
    ids = [e.id for e in oracles.functions()]
    assert sorted(oracles.RIGHT) == sorted(ids)
    assert sorted(oracles.DECLARED) == sorted(e.id for e in oracles.functions() if e.contract.surrogate)


@FUNCTIONS
def test_forward_and_gradient(exercise: Exercise) -> None:
    op = oracles.RIGHT[exercise.id]
    declared = oracles.DECLARED.get(exercise.id, op)
    close = tolerance(exercise)
    for args in oracles.samples(exercise):
        outputs = oracles.as_tuple(exercise.reference.forward(*args))
        for mine, theirs in zip(outputs, oracles.as_tuple(op(*args)), strict=True):
            torch.testing.assert_close(mine, theirs, **close)
        g = oracles.upstream(outputs)
        for mine, theirs in zip(grads(exercise, args, g), oracles.by_autograd(declared, args, g), strict=True):
            if theirs is None:
                assert mine is None
            else:
                torch.testing.assert_close(mine, theirs, **close)


@FUNCTIONS
def test_forward_at_stated_points_and_beyond_the_finite(exercise: Exercise) -> None:
    for sample in (*exercise.inputs.at_kinks, *exercise.inputs.nonfinite):
        mine, theirs = exercise.reference.forward(*sample.args), oracles.RIGHT[exercise.id](*sample.args)
        torch.testing.assert_close(mine, theirs, equal_nan=True, **tolerance(exercise))


@FUNCTIONS
def test_what_pytorch_and_the_reference_give_at_a_kink_is_legal(exercise: Exercise) -> None:
    op = oracles.DECLARED.get(exercise.id, oracles.RIGHT[exercise.id])
    for kink in exercise.inputs.kinks:
        g = tuple(torch.ones_like(o) for o in oracles.as_tuple(exercise.reference.forward(*kink.args)))
        for found in (grads(exercise, kink.args, g), oracles.by_autograd(op, kink.args, g)):
            d = found[kink.index]
            assert isinstance(d, Tensor)
            assert bool(((kink.low <= d) & (d <= kink.high)).all()), d


ONE_SIDED = [e for e in oracles.functions() if e.inputs.kinks and e.id not in ("fake_quantize", "corpus/l2norm")]


@pytest.mark.parametrize("exercise", ONE_SIDED, ids=lambda e: e.id)
def test_the_interval_at_a_kink_is_that_of_the_slopes_on_both_sides(exercise: Exercise) -> None:
    """Not for fake_quantize, where PyTorch's declared gradient decides (tested above), nor for l2norm, whose
    subgradients at 0 are a ball and no interval."""
    op = oracles.DECLARED.get(exercise.id, oracles.RIGHT[exercise.id])
    step = 1e-6
    for kink in exercise.inputs.kinks:
        x, *others = kink.args
        right = (op(x + step, *others) - op(x, *others)) / step
        left = (op(x, *others) - op(x - step, *others)) / step
        torch.testing.assert_close(torch.minimum(left, right), kink.low, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(torch.maximum(left, right), kink.high, rtol=1e-4, atol=1e-4)


def tolerance(exercise: Exercise) -> dict[str, Any]:
    bound = LOOSER.get(exercise.id, 1e-10)
    return {"rtol": bound, "atol": bound}


def grads(exercise: Exercise, args: tuple[Any, ...], g: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    assert exercise.reference.vjp is not None
    return tuple(exercise.reference.vjp(g[0] if len(g) == 1 else g, *args))
