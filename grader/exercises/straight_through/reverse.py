"""Lesson 03: gradient reversal."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Contract, Exercise, Reference
from grader.exercises.straight_through.common import LESSON, NOT_YOURS
from grader.inputs import elementwise

__all__ = ["grad_reverse"]

grad_reverse = Exercise(
    id="grad_reverse",
    lesson=LESSON,
    title="Gradient reversal",
    symbol="GradReverse",
    kind="function",
    points=3,
    reference=Reference(forward=lambda x, alpha: x.clone(), vjp=lambda g, x, alpha: (-alpha * g, None)),
    # alpha = -1 is left out: its declared gradient would be the true one
    inputs=elementwise((0.5,), (1.0,), (2.5,), (0.3,), (0.0,)),
    contract=Contract(surrogate=True, second_order="ignored", output_is_input=True),
    not_derived=("in_place_upstream",),
    hints=(
        "The forward changes nothing; all of this Function is in its backward.",
        "alpha is a plain number: it may stand on ctx. How many inputs did forward have, and so how many "
        "values does backward return?",
        "Keep ctx.alpha = alpha, return x.view_as(x) from forward, and return two values from backward: "
        "minus alpha times g as a new tensor, and None.",
    ),
)


@grad_reverse.misconception(
    "negated_output",
    "Your output is negated. Forward, this is the identity: only what flows back is turned around.",
)
class NegatedOutput(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return -alpha * x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


@grad_reverse.misconception(
    "negated_values",
    "Your output is turned around as well. Forward, this is the identity: only what flows back changes.",
)
class NegatedValues(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return -x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


@grad_reverse.misconception(
    "missing_none",
    "backward returns one value, but forward had two inputs, x and alpha. There is one slot per input of "
    "forward; those without a gradient get None.",
)
class ReverseMissingNone(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output


@grad_reverse.misconception(
    "forgets_alpha",
    "You reverse the gradient but do not weigh it: alpha says how strongly it is turned around.",
)
class ForgetsAlpha(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output, None


@grad_reverse.misconception(
    "sign_flipped",
    "The gradient comes out in its old direction. Either the minus is missing, or there are two of them.",
)
class NotReversed(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.alpha * grad_output, None


@grad_reverse.misconception(
    "in_place_negation",
    NOT_YOURS,
)
class InPlaceNegation(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg_().mul_(ctx.alpha), None


@grad_reverse.misconception(
    "float32_alpha",
    "You turned alpha into a tensor, and torch.tensor(0.3) is float32: a float64 gradient loses half its "
    "digits. A plain number can stay one.",
)
class Float32Alpha(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(torch.tensor(alpha))
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (alpha,) = ctx.saved_tensors
        return -alpha * grad_output, None


@grad_reverse.misconception(
    "gradient_for_alpha",
    "You return a gradient for alpha, which is a plain number and can take none. Its slot gets None.",
)
class GradientForAlpha(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return -ctx.alpha * grad_output, -(grad_output * x).sum()


@grad_reverse.variant("clone", "A copy is one tensor more, but nobody can change x through it.")
class ReverseClone(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


@grad_reverse.variant("returns_input")
class ReverseReturnsInput(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None


@grad_reverse.variant(
    "setup_context",
    "A view copies no data, and is a tensor of its own, so nobody takes the reversed one for x itself.",
)
class ReverseSetup(Function):
    @staticmethod
    def forward(x, alpha):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.alpha = inputs

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * -ctx.alpha, None
