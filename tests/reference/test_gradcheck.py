"""torch's own gradcheck and gradgradcheck accept a Function built from each reference, and no surrogate."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Exercise
from grader.inputs import Draw
from tests.reference import oracles

TRUE = [e for e in oracles.functions() if not e.contract.surrogate]
DECLARED = [e for e in oracles.functions() if e.contract.surrogate]


def built_from(exercise: Exercise) -> type[Function]:
    """An autograd.Function whose forward and backward are the reference's."""
    vjp = exercise.reference.vjp
    assert vjp is not None

    class FromReference(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
            ctx.numbers = [None if isinstance(a, Tensor) else a for a in args]
            return exercise.reference.forward(*args)

        @staticmethod
        def backward(ctx: Any, *g: Tensor) -> Any:
            args = [n if s is None else s for s, n in zip(ctx.saved_tensors, ctx.numbers, strict=True)]
            assert vjp is not None
            return vjp(g[0] if len(g) == 1 else g, *args)

    return FromReference


def small_inputs(exercise: Exercise) -> list[tuple[Any, ...]]:
    make = exercise.inputs.small or exercise.inputs.generic
    few = [s.args for s in exercise.inputs.variants(Draw(8)) if elements(s.args) <= 30]
    return [oracles.leaves(args) for args in (make(Draw(7)), *few)]


def elements(args: tuple[Any, ...]) -> int:
    return sum(a.numel() for a in args if isinstance(a, Tensor))


@pytest.mark.parametrize("exercise", TRUE, ids=lambda e: e.id)
def test_gradcheck(exercise: Exercise) -> None:
    for args in small_inputs(exercise):
        assert torch.autograd.gradcheck(built_from(exercise).apply, args)


@pytest.mark.parametrize("exercise", [e for e in TRUE if e.contract.second_order != "ignored"], ids=lambda e: e.id)
def test_gradgradcheck(exercise: Exercise) -> None:
    for args in small_inputs(exercise)[:2]:
        assert torch.autograd.gradgradcheck(built_from(exercise).apply, args)


@pytest.mark.parametrize("exercise", DECLARED, ids=lambda e: e.id)
def test_gradcheck_rejects_a_declared_gradient(exercise: Exercise) -> None:
    assert not torch.autograd.gradcheck(built_from(exercise).apply, small_inputs(exercise)[0], raise_exception=False)
