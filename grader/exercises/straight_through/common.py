"""What the exercises of lesson 03 share: inputs clear of the steps that hit every part of a surrogate.

The references' `vjp` is the declared surrogate, not the derivative: `DECLARED` asks that the student's
vector-Jacobian product equals it and that gradcheck fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor

from grader.exercise import Args, Contract
from grader.inputs import LARGE, Draw, Inputs, Kink, Sample

__all__ = ["DECLARED", "LESSON", "NOT_YOURS", "around", "step_inputs", "vector"]

LESSON = "03_straight_through"
DECLARED = Contract(surrogate=True, second_order="ignored")
NOT_YOURS = (
    "Your backward writes into grad_output itself. That tensor is not yours: other branches of the graph "
    "read it too. Leave it as it came and return a new tensor."
)
Interval = tuple[float, float]


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def spread(draw: Draw, shape: Sequence[int], intervals: Sequence[Interval], required: int) -> Tensor:
    """Elements drawn from `intervals`; each of the first `required` ones is hit where there is room for all.

    Without it a small sample could lie wholly outside the window, where surrogate and true gradient agree
    (both are zero) and gradcheck would accept the surrogate.
    """
    count = math.prod(shape)
    chosen = [draw.integer(0, len(intervals) - 1) for _ in range(count)]
    if count >= required:
        chosen[:required] = range(required)
    low, high = (vector(*(intervals[i][side] for i in chosen)) for side in (0, 1))
    x = low + (high - low) * torch.rand(count, generator=draw.generator, dtype=torch.float64)
    return x[torch.randperm(count, generator=draw.generator)].reshape(tuple(shape))


def step_inputs(
    intervals: Callable[..., Sequence[Interval]],
    *extras: Args,
    required: int,
    kinks: tuple[Kink, ...] = (),
    at_kinks: Tensor,
    extreme: Tensor,
) -> Inputs:
    """Inputs of an elementwise step function op(x, *extra); `intervals(*extra)` say where x may lie."""
    choices = extras or ((),)

    def args(draw: Draw, *shape: int, extra: Args = choices[0]) -> Args:
        return (spread(draw, shape, intervals(*extra), required), *extra)

    def variants(draw: Draw) -> Iterable[Sample]:
        yield Sample("a vector", args(draw, 7))
        yield Sample("a tensor of three dimensions", args(draw, *draw.shape(3)))
        for extra in choices[1:]:
            yield Sample(f"arguments {', '.join(map(str, extra))}", args(draw, *draw.shape(2), extra=extra))

    def edges(draw: Draw) -> Iterable[Sample]:
        for _ in range(2):
            yield Sample("a 0-d tensor", args(draw))
        yield Sample("a tensor of one element", args(draw, 1, 1))
        yield Sample("an empty tensor", args(draw, 0, 3))

    def large(draw: Draw) -> Args:
        values, rows, columns = args(draw, 97)[0], *LARGE
        return (values.repeat(rows * columns // 97 + 1)[: rows * columns].reshape(LARGE), *choices[0])

    return Inputs(
        generic=lambda draw: args(draw, *draw.shape(2)),
        small=lambda draw: args(draw, 2, 3),
        large=large,
        variants=variants,
        edges=edges,
        kinks=kinks,
        at_kinks=(Sample("values at the steps", (at_kinks, *choices[0])),),
        extreme=(Sample("extreme magnitudes", (extreme, *choices[0])),),
    )


def around(codes: Iterable[int], low: float = -0.35, high: float = 0.35) -> list[Interval]:
    """Intervals around integers that keep clear of the rounding ties, also after a cast to bfloat16."""
    return [(code + low, code + high) for code in codes]
