"""Lesson 02: a piecewise operation, and what to save for its backward."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Kink, elementwise

__all__ = ["EXERCISES"]

LESSON = "02_relu"


def _t(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


relu = Exercise(
    id="relu",
    lesson=LESSON,
    title="ReLU by hand",
    symbol="MyReLU",
    kind="function",
    points=4,
    reference=Reference(
        forward=lambda x: torch.where(x > 0, x, torch.where(x.isnan(), x, 0.0)),
        vjp=lambda g, x: (g * (x > 0).to(g.dtype),),
    ),
    inputs=elementwise(
        off=(0.0,),
        kinks=(Kink((_t(0.0, -1.0, 2.0),), low=_t(0, 0, 1), high=_t(1, 0, 1)),),
        at_kinks=[(0.0, -3.0, 3.0)],
        extreme=(-1e30, 1e30, 5.0),
        nonfinite=(float("nan"), 1.0, -1.0, float("inf"), float("-inf")),
    ),
    hints=(
        "Which of its inputs did ReLU let through? Only those may receive gradient.",
        "backward receives g = dL/dy and must return dL/dx: what is dy/dx for x > 0, and what for x < 0?",
        "Save what tells the two cases apart in forward, read it back with ctx.saved_tensors, and multiply g by that "
        "0/1 mask into a new tensor.",
    ),
)


@relu.misconception(
    "in_place_mask",
    "Your backward writes zeros into grad_output itself. That tensor is not yours: other branches of the graph read it "
    "too. Make a new tensor.",
)
class InPlaceMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0
        return grad_output


@relu.misconception(
    "mask_by_gradient",
    "You mask by the sign of the gradient. Whether ReLU let an element through was decided by the sign of the input.",
)
class MaskByGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output > 0)


@relu.variant("save_output")
class SaveOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, torch.zeros_like(grad_output))


EXERCISES = (relu,)
