"""Lesson 02: the references agree with PyTorch's own operations, and what the lesson states is so here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercises.relu import EXERCISES
from grader.inputs import Draw

BUILT_IN: dict[str, Callable[..., Tensor]] = {
    "relu": torch.relu,
    "leaky_relu": F.leaky_relu,
    "clamp": torch.clamp,
    "relu_mask": torch.relu,
    "swish": F.silu,
}


def through_autograd(op: Callable[..., Tensor], g: Tensor, x: Tensor, *numbers: Any) -> tuple[Tensor, Tensor]:
    x = x.clone().requires_grad_()
    y = op(x, *numbers)
    return y.detach(), torch.autograd.grad(y, x, g)[0]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.id)
def test_the_reference_is_pytorchs_operation(exercise: Any) -> None:
    draw = Draw(5)
    inputs = exercise.inputs
    named = (*inputs.variants(draw), *inputs.edges(draw), *inputs.extreme)
    samples = [inputs.generic(draw), *(s.args for s in named)]
    for x, *numbers in samples:
        g = draw.normal(*x.shape, scale=3.0)
        value, grad = through_autograd(BUILT_IN[exercise.id], g, x, *numbers)
        torch.testing.assert_close(exercise.reference.forward(x, *numbers), value, rtol=1e-12, atol=1e-12)
        mine, *others = exercise.reference.vjp(g, x, *numbers)
        torch.testing.assert_close(mine, grad, rtol=1e-12, atol=1e-12)
        assert others == [None] * len(numbers)


@pytest.mark.parametrize(
    ("op", "slope"),
    [
        (torch.relu, 0.0),
        (lambda x: torch.maximum(x, torch.zeros_like(x)), 0.5),
        (lambda x: x.clamp(min=0), 1.0),
    ],
)
def test_the_three_slopes_at_the_kink_are_as_taught(op: Callable[[Tensor], Tensor], slope: float) -> None:
    assert through_autograd(op, torch.tensor(1.0), torch.tensor(0.0))[1].item() == slope


def bytes_kept(f: Callable[[Tensor], Tensor], x: Tensor) -> int:
    storages: dict[int, Any] = {}

    def pack(tensor: Tensor) -> Tensor:
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        f(x)
    return sum(storage.nbytes() for storage in storages.values())


@pytest.mark.parametrize(
    ("op", "per_element"),
    [
        (lambda x: x / (1 + torch.exp(-x)), 12),
        (lambda x: x * torch.sigmoid(x), 8),
        (F.silu, 4),
        (torch.relu, 4),
        (lambda x: torch.where(x > 0, x, 0.0), 1),
    ],
)
def test_the_bytes_in_the_bar_chart_are_as_told(op: Callable[[Tensor], Tensor], per_element: int) -> None:
    x = torch.randn(100, requires_grad=True)
    assert bytes_kept(op, x) == 100 * per_element


def test_writing_into_grad_output_passes_gradcheck_and_ruins_the_skip_connection() -> None:
    in_place = next(m.thing for m in EXERCISES[0].written_misconceptions if m.id == "in_place_mask")
    x = torch.tensor([-1.0, 2.0, -3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(in_place.apply, x)
    weights = torch.tensor([10.0, 20.0, 30.0], dtype=torch.float64)
    ((x + in_place.apply(x)) * weights).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 40.0, 0.0]
