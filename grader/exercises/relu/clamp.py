"""Lesson 02: clamp, a window with two ends."""

from __future__ import annotations

import math

import torch
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.relu.common import LESSON, NOT_YOURS, vector
from grader.inputs import Kink, elementwise

__all__ = ["clamp"]

clamp = Exercise(
    id="clamp",
    lesson=LESSON,
    title="A window with two ends",
    symbol="Clamp",
    kind="function",
    points=4,
    reference=Reference(
        forward=lambda x, low, high: x.clamp(low, high),
        vjp=lambda g, x, low, high: (torch.where((x > low) & (x < high), g, 0.0), None, None),
    ),
    inputs=elementwise(
        (-0.5, 0.8), (-1.0, 1.0), (0.2, 0.9), (-2.0, -0.1), (-0.3, math.inf), (-math.inf, 0.4),
        off=lambda low, high: (low, high),
        kinks=(
            Kink(
                (vector(-0.5, 0.8, -1.0, 0.1, 2.0), -0.5, 0.8),
                low=vector(0, 0, 0, 1, 0),
                high=vector(1, 1, 0, 1, 0),
            ),
        ),
        at_kinks=[(-0.5, 0.8, -1.0, 0.1, 2.0)],
        extreme=(-1e30, 1e30, 0.1, 1e-12),
        nonfinite=(float("nan"), 1.5, -1.0, float("inf"), float("-inf")),
    ),
    not_derived=("in_place_upstream",),
    hints=(
        "Draw the function: three straight pieces. On which of them does y move when x moves?",
        "It is a 0/1 mask again, with two conditions that must hold at the same time. For boolean tensors "
        "`and` is written & with brackets around each comparison.",
        "Keep low and high as attributes of ctx and x through save_for_backward, or save the finished mask. "
        "backward returns three values.",
    ),
)  # fmt: skip


@clamp.misconception(
    "lower_end_only",
    "Your mask knows the lower end only: above the upper one y does not move either, yet gradient flows "
    "there.",
)
class LowerEndOnly(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x > low)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "upper_end_only",
    "Your mask knows the upper end only: below the lower one y does not move either, yet gradient flows "
    "there.",
)
class UpperEndOnly(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x < high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "clamps_gradient",
    "Your backward clamps the gradient. The window was about x: the gradient of an element inside passes "
    "whole however large it is, and that of one outside not at all.",
)
class ClampsGradient(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(ctx.low, ctx.high), None, None


@clamp.misconception(
    "window_on_gradient",
    "Your mask asks whether the gradient lies between low and high. Whether y moves with x is a question "
    "about x.",
)
class WindowOnGradient(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        inside = (grad_output > ctx.low) & (grad_output < ctx.high)
        return grad_output * inside, None, None


@clamp.misconception(
    "mask_inverted",
    "Your mask is inside out: gradient flows where the clamp holds y fixed, and none where y follows x.",
)
class WindowInverted(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x < low) | (x > high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "nothing_blocked",
    "Your backward lets every gradient through. If you combined two conditions, ask whether a number can "
    "fail both at once; if you masked by y, ask whether a clamped y can ever leave the window.",
)
class EitherEnd(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) | (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "symmetric_window",
    "Your mask compares the size of x with one bound, as if the window lay evenly around 0. low and high "
    "are two independent numbers.",
)
class SymmetricWindow(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x.abs() < high)
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "fixed_window",
    "Your backward has the bounds of its window written into it. They must be those this call was made with.",
)
class FixedWindow(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > -1) & (x < 1))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.misconception(
    "no_upstream",
    "Your backward returns the mask alone. The gradient that arrives from above is nowhere in it.",
)
class WindowOnly(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) & (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask.to(grad_output.dtype), None, None


@clamp.misconception(
    "missing_none",
    "forward takes three inputs after ctx, but your backward returns fewer values. It owes one per input, "
    "also for the plain numbers.",
)
class ClampMissingNone(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) & (x < high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None


@clamp.misconception(
    "gradients_for_bounds",
    "low and high are plain Python numbers, yet your backward returns tensors for them. Autograd has nobody "
    "to give those gradients to and refuses them.",
)
class GradientsForBounds(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        below, above = x <= ctx.low, x >= ctx.high
        inside = ~(below | above)
        return grad_output * inside, (grad_output * below).sum(), (grad_output * above).sum()


@clamp.misconception("in_place_mask", NOT_YOURS)
class ClampInPlace(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x < low) | (x > high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (outside,) = ctx.saved_tensors
        grad_output[outside] = 0
        return grad_output, None, None


@clamp.misconception(
    "clamps_gradient_at_one",
    "Your backward cuts the gradient down to [-1, 1]. The window was about x: the gradient of an element "
    "inside passes whole however large it is, and that of one outside not at all.",
)
class ClampsGradientAtOne(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clamp(-1, 1), None, None


@clamp.misconception(
    "nan_hidden",
    "Your forward turns NaN into a bound. A comparison with NaN is always false, so NaN fell into the last "
    "of your pieces; a NaN that disappears is a bug nobody finds.",
)
class ClampHidesNan(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x > low) & (x < high))
        return torch.where(x > high, high, torch.where(x > low, x, low))

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.variant("save_mask")
class ClampSaveMask(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask, None, None


@clamp.variant(
    "save_output",
    "y lies strictly between the ends exactly where x did; if the next layer keeps y, this costs nothing more.",
)
class ClampSaveOutput(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.clamp(x, min=low, max=high)
        ctx.save_for_backward(y)
        ctx.low, ctx.high = low, high
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        inside = torch.logical_and(y > ctx.low, y < ctx.high)
        return torch.where(inside, grad_output, torch.zeros_like(grad_output)), None, None


@clamp.variant("unchanged_elements")
class ClampUnchanged(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.minimum(torch.maximum(x, x.new_full((), low)), x.new_full((), high))
        ctx.save_for_backward((y == x).to(x.dtype))
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (unchanged,) = ctx.saved_tensors
        return grad_output * unchanged, None, None


@clamp.variant(
    "clone_then_zero",
    "Saves the input and zeroes what lies outside: the plainest, and the subgradient at each end is written down "
    "for all to see.",
)
class ClampCloneThenZero(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.bounds = low, high
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        low, high = ctx.bounds
        grad_input = grad_output.clone()
        grad_input[x < low] = 0
        grad_input[x >= high] = 0
        return grad_input, None, None


@clamp.variant(
    "setup_context",
    "Keeps the finished mask, one byte for each element, and the two bounds are not needed any more.",
)
class ClampSetupContext(Function):
    @staticmethod
    def forward(x, low, high):
        return x.clamp(low, high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, low, high = inputs
        ctx.save_for_backward((x > low) & (x < high))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill(~ctx.saved_tensors[0], 0), None, None
