"""Lesson 04: a vector-Jacobian product from function values alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Draw, Inputs, Sample

__all__ = ["central_vjp", "numerical_vjp"]

Args = tuple[Any, ...]


def central_vjp(f: Callable[[Tensor], Tensor], x: Tensor, g: Tensor, eps: float) -> Tensor:
    """g^T J of f at x by central differences with step eps; g has the shape of f(x), the result that of x."""
    result = torch.empty(x.numel(), dtype=x.dtype)
    for j, unit in enumerate(torch.eye(x.numel(), dtype=x.dtype)):
        step = eps * unit.reshape(x.shape)
        result[j] = ((f(x + step) - f(x - step)) * g).sum() / (2 * eps)
    return result.reshape(x.shape)


def _curved(draw: Draw, *shape: int, eps: float = 1e-3) -> Args:
    """f(x) = sin(x w), with more outputs than inputs have columns: curved enough for a one-sided slope to
    show."""
    weight = draw.normal(shape[-1], shape[-1] + 2)
    x = draw.normal(*shape, scale=1.5)
    return lambda z: torch.sin(z @ weight), x, draw.normal(*shape[:-1], shape[-1] + 2, scale=1.5), eps


def _numerical_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("eps=1e-5", _curved(draw, 3, 2, eps=1e-5))
    yield Sample("a large step, eps=0.1", _curved(draw, 2, 3, eps=0.1))
    yield Sample(
        "an f that autograd cannot see into",
        (lambda z: z.detach() ** 3, draw.normal(4), draw.normal(4), 1e-3),
    )
    yield Sample(
        "a function with a 0-d output", (lambda z: (z**3).mean(), draw.normal(2, 3), draw.normal(), 1e-3)
    )


def _numerical_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("a 0-d x", (torch.exp, draw.normal(), draw.normal(), 1e-3))
    yield Sample(
        "an x of one element and an f with five outputs",
        (lambda z: torch.exp(z).expand(5), draw.normal(1), draw.normal(5), 1e-3),
    )


numerical_vjp = Exercise(
    id="numerical_vjp",
    lesson="04_gradcheck",
    title="A vector-Jacobian product from function values alone",
    symbol="numerical_vjp",
    kind="plain",
    points=3,
    reference=Reference(forward=central_vjp),
    inputs=Inputs(
        generic=lambda draw: _curved(draw, *draw.shape(2)),
        variants=_numerical_variants,
        edges=_numerical_edges,
    ),
    contract=Contract(tolerance=1e-6),
    stages={"value": 1.0},
    hints=(
        "The worked numerical_gradient does one element at a time for an f with a single output. What "
        "changes when f has many outputs, each weighted by an entry of g?",
        "For element j: both differences f(x + step) - f(x - step) are tensors like g. The chain rule "
        "weights each output's slope by its entry of g and adds them up: one number per j.",
        "Make a zero vector with x.numel() entries and x's dtype, set entry j to eps, reshape it to "
        "x.shape; entry j of the answer is ((f(x + step) - f(x - step)) * g).sum() / (2 * eps). Reshape "
        "the answer like x.",
    ),
)


@numerical_vjp.misconception(
    "one_sided",
    "You compare f after the step with f at x itself. The error of a one-sided slope shrinks only like "
    "eps; step to both sides and it shrinks like eps squared.",
)
def one_sided(f, x, g, eps):
    out = torch.zeros(x.numel(), dtype=x.dtype)
    here = f(x)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        out[j] = ((f(x + step.reshape(x.shape)) - here) * g).sum() / eps
    return out.reshape(x.shape)


@numerical_vjp.misconception(
    "in_float32",
    "Somewhere you compute in float32. Two nearly equal numbers are subtracted here, so the rounding of "
    "float32 is divided by a tiny step: read the picture of the two V's again.",
)
def in_float32(f, x, g, eps):
    out = torch.zeros(x.numel())
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        out[j] = (((f(x + step)).float() - (f(x - step)).float()) * g.float()).sum() / (2 * eps)
    return out.reshape(x.shape).to(x.dtype)


@numerical_vjp.misconception(
    "step_not_undone",
    "After the first element you go on from a point that has already moved: each slope must be taken at x "
    "itself, with the earlier steps undone.",
)
def step_not_undone(f, x, g, eps):
    z = x.detach().clone(memory_format=torch.contiguous_format)
    flat = z.view(-1)
    out = torch.zeros(x.numel(), dtype=x.dtype)
    for j in range(x.numel()):
        flat[j] += eps
        up = f(z.clone())
        flat[j] -= 2 * eps
        down = f(z.clone())
        out[j] = ((up - down) * g).sum() / (2 * eps)
    return out.reshape(x.shape)


@numerical_vjp.misconception(
    "steps_inside_callers_x",
    "You take the step inside the tensor you were given. It is the caller's: f may hold it too and sees "
    "it move, and adding and subtracting eps does not bring back every last bit.",
)
def steps_inside_callers_x(f, x, g, eps):
    out = torch.zeros(x.shape, dtype=x.dtype)
    for index in np.ndindex(*x.shape):
        x[index] += eps
        up = f(x).clone()
        x[index] -= 2 * eps
        down = f(x).clone()
        x[index] += eps
        out[index] = ((up - down) * g).sum() / (2 * eps)
    return out


@numerical_vjp.misconception(
    "not_halved",
    "The two points lie two steps apart, not one: look at what the difference has to be divided by.",
)
def not_halved(f, x, g, eps):
    out = torch.zeros(x.numel(), dtype=x.dtype)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        out[j] = ((f(x + step) - f(x - step)) * g).sum() / eps
    return out.reshape(x.shape)


@numerical_vjp.misconception(
    "no_upstream",
    "The upstream gradient g plays no part in your answer: you add up the slopes of all outputs with "
    "weight one.",
)
def numerical_no_upstream(f, x, g, eps):
    out = torch.zeros(x.numel(), dtype=x.dtype)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        out[j] = (f(x + step) - f(x - step)).sum() / (2 * eps)
    return out.reshape(x.shape)


@numerical_vjp.misconception(
    "all_elements_at_once",
    "You move all elements of x together. That measures one slope along one direction; every element "
    "needs a step of its own.",
)
def all_elements_at_once(f, x, g, eps):
    slope = ((f(x + eps) - f(x - eps)) * g).sum() / (2 * eps)
    return slope.expand(x.shape).clone()


@numerical_vjp.misconception(
    "one_step_per_row",
    "Your loop runs over the first dimension of x, so for a matrix it moves a whole row in one step. Every "
    "element needs a step of its own, whatever the shape of x.",
)
def one_step_per_row(f, x, g, eps):
    out = torch.zeros_like(x)
    for j in range(len(x)):
        step = torch.zeros_like(x)
        step[j] = eps
        out[j] = (g * (f(x + step) - f(x - step))).sum() / (2 * eps)
    return out


@numerical_vjp.misconception(
    "asks_autograd",
    "You let autograd compute the answer. The point of this number is to be independent of every "
    "backward: use values of f only.",
)
def asks_autograd(f, x, g, eps):
    z = x.detach().clone().requires_grad_()
    return torch.autograd.grad(f(z), z, g)[0]


@numerical_vjp.misconception(
    "flat_answer",
    "The numbers are there, but in a flat vector. A gradient has the shape of the tensor it belongs to.",
)
def flat_answer(f, x, g, eps):
    out = torch.zeros(x.numel(), dtype=x.dtype)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        out[j] = ((f(x + step) - f(x - step)) * g).sum() / (2 * eps)
    return out


@numerical_vjp.variant(
    "steps_inside_a_copy",
    "Steps one element of one copy to and fro: no second tensor of x's size for every step.",
)
def steps_inside_a_copy(f, x, g, eps):
    z = x.detach().clone()
    out = torch.zeros_like(z)
    for index in np.ndindex(*x.shape):
        old = z[index].item()
        z[index] = old + eps
        up = (f(z) * g).sum().item()
        z[index] = old - eps
        down = (f(z) * g).sum().item()
        z[index] = old
        out[index] = (up - down) / (2 * eps)
    return out


@numerical_vjp.variant(
    "jacobian_first",
    "Builds the Jacobian column by column and multiplies at the end: clear, and the Jacobian is there to look at.",
)
def jacobian_first(f, x, g, eps):
    with torch.no_grad():
        steps = eps * torch.eye(x.numel(), dtype=x.dtype)
        columns = [
            (f(x + s.reshape(x.shape)) - f(x - s.reshape(x.shape))).flatten() / (2 * eps) for s in steps
        ]
    return (g.flatten() @ torch.stack(columns, dim=1)).reshape(x.shape)
