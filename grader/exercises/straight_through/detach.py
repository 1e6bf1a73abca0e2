"""Lesson 03: any function made straight-through by the detach trick.

The functions that the exercise is tried with stand here by name, so that another process can look them up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercise import Exercise, Reference
from grader.exercises.straight_through.common import LESSON
from grader.inputs import Draw, Inputs, Sample
from grader.subject import Probe

__all__ = ["ste_detach"]

Elementwise = Callable[[Tensor], Tensor]
Args = tuple[Elementwise, Tensor]


def step(x: Tensor) -> Tensor:
    """0 or 1: the comparison cuts the graph, the output never requires grad."""
    return (x > 0).to(x.dtype)


def numpy_floor(x: Tensor) -> Tensor:
    """Not differentiable at all: the values leave torch."""
    return torch.from_numpy(np.asarray(np.floor(x.detach().numpy())))


def parabola(x: Tensor) -> Tensor:
    """Differentiable, and with another derivative than 1 nearly everywhere."""
    return x * x + 3.0


FUNCTIONS: tuple[tuple[str, Elementwise], ...] = (
    ("f = torch.round", torch.round),
    ("f = torch.sign", torch.sign),
    ("f = torch.tanh", torch.tanh),
    ("f(x) = x * x + 3", parabola),
    ("f(x) = (x > 0), as 0 and 1", step),
    ("f = a floor in NumPy", numpy_floor),
)


def _args(draw: Draw, f: Elementwise, *shape: int) -> Args:
    return f, draw.normal(*shape, scale=1.5, off=(0.0,))


def _every_function(draw: Draw) -> Iterable[Sample]:
    for name, f in FUNCTIONS:
        yield Sample(name, _args(draw, f, *draw.shape(2)))


def _edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("a 0-d tensor", _args(draw, torch.round))
    yield Sample("a tensor of one element", _args(draw, parabola, 1, 1))
    yield Sample("an empty tensor", _args(draw, torch.round, 0, 3))


@check("gradient_identity", stage="gradient")
def gradient_identity(bench: Bench) -> None:
    """Catches a gradient that is not the upstream gradient itself, for step functions, smooth functions and
    one that leaves torch: the wrong term detached (-1, or f' left in), all of them, none. Cannot see how the
    value was put together; the check `value` compares it."""
    for sample in bench.samples():
        seen = bench.observe(Probe(sample.args), where=sample.name)
        if not any(seen.facts.requires_grad):
            raise Failed(
                f"For {sample.name} the result does not require grad although x does.",
                cause="every term of the sum is detached, or made under torch.no_grad.",
                look="which single term must stay attached to the graph.",
            )
        upstream = bench.upstream(sample.args, sample.name)
        seen = bench.observe(Probe(sample.args, upstream=(upstream,)), where=sample.name)
        bench.compare(
            seen.grads[0],
            bench.right_grads(sample.args, upstream),
            where=sample.name,
            cause="the wrong term is detached, or a term too few.",
            look="the derivative of each term by itself: which are constants for autograd?",
        )


ste_detach = Exercise(
    id="ste_detach",
    lesson=LESSON,
    title="The detach trick",
    symbol="ste_detach",
    kind="plain",
    points=2,
    reference=Reference(forward=lambda f, x: f(x), vjp=lambda g, f, x: (None, g)),
    inputs=Inputs(
        generic=lambda draw: _args(draw, draw.pick([f for _, f in FUNCTIONS]), *draw.shape(2)),
        variants=_every_function,
        edges=_edges,
    ),
    checks=(gradient_identity,),
    stages={"value": 0.3, "gradient": 0.7},
    hints=(
        "You want a sum whose value is f(x) and whose only attached term is x. What must be added to x to "
        "get f(x)?",
        "t.detach() has the value of t and, for autograd, the derivative zero.",
        "Write the result as x plus a correction, which is f(x) minus x. The correction's value matters, its "
        "gradient must not: detach it as a whole.",
    ),
)


@ste_detach.misconception(
    "detaches_wrong_term",
    "You detached the term that should carry the gradient and left the other one attached. Take the "
    "derivative of each term of your sum on its own: their total must be 1.",
)
def wrong_term(f, x):
    return x.detach() + (f(x) - x)


@ste_detach.misconception(
    "roles_exchanged",
    "It is the other way round: your result has the value of x and the derivative of f. Read your sum twice, "
    "once for its values and once for its slopes.",
)
def roles_exchanged(f, x):
    return f(x) + (x - f(x)).detach()


@ste_detach.misconception(
    "detaches_everything",
    "Your result is a constant for autograd: nothing is left attached that could carry a gradient to x.",
)
def detaches_everything(f, x):
    return (x + (f(x) - x)).detach()


@ste_detach.misconception(
    "no_detach",
    "Without detach the terms cancel in the gradient just as they cancel in the value, and what remains is "
    "the true derivative of f.",
)
def no_detach(f, x):
    return x + (f(x) - x)


@ste_detach.misconception(
    "f_stays_attached",
    "The derivative of f is still in your gradient: it comes out as 1 + f'. For a step function f' is zero "
    "and nobody notices; for a smooth one it is not.",
)
def f_stays_attached(f, x):
    return f(x) + (x - x.detach())


@ste_detach.misconception(
    "x_left_in_value",
    "The gradient is right but the value is x too large: you added x for its gradient and did not take its "
    "value away.",
)
def x_left_in_value(f, x):
    return x + f(x).detach()


@ste_detach.misconception(
    "returns_x",
    "You return x itself: the gradient is right, the value is not f(x).",
)
def returns_x(f, x):
    return x * 1.0


@ste_detach.variant(
    "correction",
    "x carries the gradient, the detached correction carries the value; the form most often met in papers' code.",
)
def correction(f, x):
    return x + (f(x) - x).detach()


@ste_detach.variant(
    "zero_that_carries",
    "f(x) comes first and is not touched by rounding: x - x is exactly zero, so the value is f(x) to the last "
    "bit.",
)
def zero_that_carries(f, x):
    return f(x).detach() + (x - x.detach())


@ste_detach.variant(
    "no_grad",
    "The same sum; f runs without recording, so its own graph is never built: the one to take for an expensive f.",
)
def under_no_grad(f, x):
    with torch.no_grad():
        offset = f(x) - x
    return x + offset


@ste_detach.variant("f_of_detached")
def f_of_detached(f, x):
    return f(x.detach()) + x - x.detach()
