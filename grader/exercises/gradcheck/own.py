"""Lesson 04: a gradient check of one's own, scored on Functions that are right and Functions that are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.exercise import Exercise, Reference
from grader.exercises.gradcheck.numerical import central_vjp
from grader.exercises.gradcheck.specimens import flawed_in_one_place, function_of, hidden_by_ones, right_ones
from grader.exercises.gradcheck.verdicts import TELLS_APART
from grader.inputs import Draw, Inputs, Sample

__all__ = ["my_gradcheck"]

Args = tuple[Any, ...]


def _checked(
    fn: Callable[..., Tensor], inputs: tuple[Tensor, ...], eps: float = 1e-6, atol: float = 1e-5
) -> bool:
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, analytic in enumerate(torch.autograd.grad(y, xs, g)):
        partial = lambda z, k=k: fn(*(z if i == k else x.detach() for i, x in enumerate(xs)))  # noqa: E731
        numeric = central_vjp(partial, xs[k].detach(), g, eps)
        if not torch.allclose(analytic, numeric, rtol=0.0, atol=atol):
            return False
    return True


def _transposed_softmax(draw: Draw) -> Args:
    right = next(s for s in right_ones(draw) if "transposed" in s.name)
    return right.apply, right.inputs


def _telling(draw: Draw) -> Iterable[Sample]:
    """What the diagnosis probes with (the checks bring their own Functions): each is telling for one
    misconception."""
    square = function_of(lambda z: z * z, lambda g, z: (2 * z * g,))
    slightly = function_of(lambda z: z**3, lambda g, z: (3.03 * z**2 * g,))
    x = draw.uniform(3, low=0.5, high=1.5)
    forgets, _, zero_softmax, _ = hidden_by_ones(draw)
    _, last, _, second_input = flawed_in_one_place(draw)
    for specimen in (forgets, zero_softmax, last, second_input):
        yield Sample(specimen.name, (specimen.apply, specimen.inputs))
    yield Sample("a cube one percent too steep", (slightly, (x,)))
    yield Sample("a right square, with eps=1e-3", (square, (x,), 1e-3))


my_gradcheck = Exercise(
    id="my_gradcheck",
    lesson="04_gradcheck",
    title="Your own gradcheck",
    symbol="my_gradcheck",
    kind="plain",
    points=5,
    reference=Reference(forward=_checked),
    inputs=Inputs(generic=_transposed_softmax, variants=_telling),
    checks=TELLS_APART,
    stages={"value": 0.3, "gradient": 0.4, "contract": 0.3},
    hints=(
        "Two sides, one upstream gradient g drawn at random in the output's shape: what autograd says the "
        "VJP is, and what the values of fn say it is.",
        "Analytic side: detached clones that require grad, y = fn(*clones), then torch.autograd.grad(y, "
        "clones, g). Numerical side: for every input k and every element j, step input k alone and leave "
        "the other inputs as they are.",
        "Per element: slope = ((fn(.. x_k + step ..) - fn(.. x_k - step ..)) * g).sum() / (2 * eps). "
        "Return False as soon as one slope is further than atol from the analytic entry; return True at "
        "the end, after the last input.",
    ),
)


@my_gradcheck.misconception(
    "ones_upstream",
    "You try the backward with an upstream gradient of ones only. A backward that forgets g, or averages "
    "it, is right for ones. Use a g whose entries all differ.",
)
def ones_upstream(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    grads = torch.autograd.grad(fn(*xs).sum(), xs)
    for k, grad in enumerate(grads):
        for j in range(xs[k].numel()):
            step = torch.zeros(xs[k].numel(), dtype=xs[k].dtype)
            step[j] = eps
            step = step.reshape(xs[k].shape)
            up = fn(*[x.detach() + step if i == k else x.detach() for i, x in enumerate(xs)])
            down = fn(*[x.detach() - step if i == k else x.detach() for i, x in enumerate(xs)])
            if not abs((up - down).sum() / (2 * eps) - grad.flatten()[j]) <= atol:
                return False
    return True


@my_gradcheck.misconception(
    "one_element_only",
    "You compare a single element of each gradient. A backward may be right there and wrong in all the "
    "others.",
)
def one_element_only(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        step = torch.zeros(xs[k].numel(), dtype=xs[k].dtype)
        step[0] = eps
        step = step.reshape(xs[k].shape)
        up = fn(*[x.detach() + step if i == k else x.detach() for i, x in enumerate(xs)])
        down = fn(*[x.detach() - step if i == k else x.detach() for i, x in enumerate(xs)])
        if not abs(((up - down) * g).sum() / (2 * eps) - grad.flatten()[0]) <= atol:
            return False
    return True


@my_gradcheck.misconception(
    "first_input_only",
    "You check the gradient of the first input and stop. A Function returns one gradient per input; each "
    "can be wrong by itself.",
)
def first_input_only(fn, inputs, eps=1e-6, atol=1e-5):
    x, rest = inputs[0].detach().clone().requires_grad_(), inputs[1:]
    y = fn(x, *rest)
    g = torch.randn(y.shape, dtype=y.dtype)
    (grad,) = torch.autograd.grad(y, x, g)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        slope = ((fn(x.detach() + step, *rest) - fn(x.detach() - step, *rest)) * g).sum() / (2 * eps)
        if not abs(slope - grad.flatten()[j]) <= atol:
            return False
    return True


@my_gradcheck.misconception(
    "tolerance_too_wide",
    "Your comparison forgives too much: an error of one percent passes. In float64 a right gradient "
    "agrees to eight digits or so; take atol at its word.",
)
def tolerance_too_wide(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        numeric = torch.zeros(xs[k].numel(), dtype=xs[k].dtype)
        for j in range(xs[k].numel()):
            step = torch.zeros(xs[k].numel(), dtype=xs[k].dtype)
            step[j] = eps
            step = step.reshape(xs[k].shape)
            up = fn(*[x.detach() + step if i == k else x.detach() for i, x in enumerate(xs)])
            down = fn(*[x.detach() - step if i == k else x.detach() for i, x in enumerate(xs)])
            numeric[j] = ((up - down) * g).sum() / (2 * eps)
        if not torch.allclose(numeric.reshape(grad.shape), grad, rtol=0.05, atol=atol):
            return False
    return True


@my_gradcheck.misconception(
    "total_only",
    "You compare one total per input. Errors of opposite sign, and errors in an entry that counts little, "
    "cancel in a sum: compare entry by entry.",
)
def total_only(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        up = fn(*[x.detach() + eps if i == k else x.detach() for i, x in enumerate(xs)])
        down = fn(*[x.detach() - eps if i == k else x.detach() for i, x in enumerate(xs)])
        if not abs(((up - down) * g).sum() / (2 * eps) - grad.sum()) <= atol:
            return False
    return True


@my_gradcheck.misconception(
    "one_sided",
    "Your slopes look to one side of x only. They are off by a term that grows with eps, where a "
    "two-sided slope of a parabola would be exact.",
)
def gradcheck_one_sided(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        for j in range(xs[k].numel()):
            step = torch.zeros(xs[k].numel(), dtype=xs[k].dtype)
            step[j] = eps
            step = step.reshape(xs[k].shape)
            up = fn(*[x.detach() + step if i == k else x.detach() for i, x in enumerate(xs)])
            if not abs(((up - y.detach()) * g).sum() / eps - grad.flatten()[j]) <= atol:
                return False
    return True


@my_gradcheck.misconception(
    "steps_inside_inputs",
    "You step inside the tensors you were given, or switch their requires_grad on. They belong to the "
    "caller: work on detached copies.",
)
def steps_inside_inputs(fn, inputs, eps=1e-6, atol=1e-5):
    for x in inputs:
        x.requires_grad_()
    y = fn(*inputs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, inputs, g)):
        x = inputs[k]
        for index in np.ndindex(*x.shape):
            with torch.no_grad():
                x[index] += eps
                up = fn(*inputs)
                x[index] -= 2 * eps
                down = fn(*inputs)
                x[index] += eps
            if not abs(((up - down) * g).sum() / (2 * eps) - grad[index]) <= atol:
                return False
    return True


@my_gradcheck.misconception(
    "lost_steps",
    "On an input that is not contiguous your steps go nowhere or fail: .view needs contiguous memory, and "
    ".reshape(-1) silently makes a copy there. Build the step as a tensor of its own and add it.",
)
def lost_steps(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        x = xs[k]
        flat = x.detach().reshape(-1)
        for j in range(x.numel()):
            with torch.no_grad():
                old = flat[j].item()
                flat[j] = old + eps
                up = fn(*xs)
                flat[j] = old - eps
                down = fn(*xs)
                flat[j] = old
            if not abs(((up - down) * g).sum() / (2 * eps) - grad.flatten()[j]) <= atol:
                return False
    return True


@my_gradcheck.misconception(
    "hands_it_to_torch",
    "You call torch's own gradcheck. It does the job, but this exercise is to build one: function values "
    "on one side, torch.autograd.grad on the other.",
)
def hands_it_to_torch(fn, inputs, eps=1e-6, atol=1e-5):
    xs = tuple(x.detach().clone().requires_grad_() for x in inputs)
    return torch.autograd.gradcheck(fn, xs, eps=eps, atol=atol, rtol=0.0, raise_exception=False)


@my_gradcheck.misconception(
    "always_true",
    "Your function never says False. A check that cannot fail tells nothing: try it on a Function you "
    "know is wrong.",
)
def always_true(fn, inputs, eps=1e-6, atol=1e-5):
    return True


@my_gradcheck.variant(
    "full_jacobian",
    "Compares every entry by itself: one backward for each output, but no error can hide in a sum. torch's own "
    "gradcheck does this.",
)
def full_jacobian(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    outputs = torch.eye(y.numel(), dtype=y.dtype)
    rows = [torch.autograd.grad(y, xs, e.reshape(y.shape), retain_graph=True) for e in outputs]
    for k, x in enumerate(xs):
        analytic = torch.stack([row[k].flatten() for row in rows])
        with torch.no_grad():
            for j, unit in enumerate(torch.eye(x.numel(), dtype=x.dtype)):
                step = eps * unit.reshape(x.shape)
                up = fn(*[z + step if i == k else z for i, z in enumerate(xs)])
                down = fn(*[z - step if i == k else z for i, z in enumerate(xs)])
                if not torch.allclose(
                    ((up - down) / (2 * eps)).flatten(), analytic[:, j], rtol=1e-3, atol=atol
                ):
                    return False
    return True


@my_gradcheck.variant(
    "steps_inside_copies",
    "One random upstream gradient tests the whole Jacobian at once, with two calls of fn for each element.",
)
def steps_inside_copies(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone() for x in inputs]
    leaves = [x.clone().requires_grad_() for x in xs]
    y = fn(*leaves)
    g = torch.rand(y.shape, dtype=y.dtype) + 0.5
    y.backward(g)
    errors = []
    for k, leaf in enumerate(leaves):
        x = xs[k]
        for index in np.ndindex(*x.shape):
            old = x[index].item()
            x[index] = old + eps
            up = fn(*xs)
            x[index] = old - eps
            down = fn(*xs)
            x[index] = old
            errors.append(abs(((up - down) * g).sum().item() / (2 * eps) - leaf.grad[index].item()))
    return all(error <= atol for error in errors)
