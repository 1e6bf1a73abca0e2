"""Lesson 00: one trivial exercise that shows the loop of write, check, read the report."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.inputs import elementwise

__all__ = ["EXERCISES"]

LESSON = "00_start_here"

double = Exercise(
    id="double",
    lesson=LESSON,
    title="Twice as much",
    symbol="Double",
    kind="function",
    points=1,
    reference=Reference(
        forward=lambda x: 2 * x,
        vjp=lambda g, x: (2 * g,),
    ),
    inputs=elementwise(
        extreme=(-1e30, 1e30, 1e-30), nonfinite=(float("nan"), float("inf"), float("-inf"), 1.0)
    ),
    hints=(
        "Move x by a little: how far does y = 2x move? That is the factor between the two gradients.",
        "backward receives g, the gradient of the loss with respect to y, and returns the gradient with "
        "respect to x. Look at `Triple` above: which of its numbers belong to the number three?",
        "Both methods are one line each: `forward` returns x times a number, `backward` returns grad_output "
        "times the same number. Nothing has to be saved.",
    ),
)


@double.misconception(
    "identity",
    "Your backward hands on the gradient it was given, as if y were x. But y moves further than x does, and "
    "backward has to say how much further.",
)
class HandedOn(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@double.misconception(
    "no_upstream",
    "Your backward returns the slope of y = 2x and never uses grad_output. The slope is only the last "
    "factor of the chain rule; what comes from the rest of the network arrives in grad_output.",
)
class SlopeOnly(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, 2)


@double.misconception(
    "triple",
    "This still triples: it is the worked example from above. Which number has to change, and in how many "
    "places?",
)
class Triple(Function):
    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


@double.misconception(
    "triple_backward",
    "forward doubles but backward still triples. The two have to tell the same story: change the number "
    "there too.",
)
class TripleBackward(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output


@double.misconception(
    "backward_of_value",
    "Your backward multiplies by the value of x (or y). How far y moves for a small step of x does not "
    "depend on where x is: y = 2x is a straight line.",
)
class BackwardOfValue(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x


@double.misconception(
    "doubled_in_place",
    "Your forward doubles x itself: the caller's tensor has changed. Compute a new tensor and leave the "
    "input alone.",
)
class DoubledInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        with torch.no_grad():
            x.data.mul_(2)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


@double.variant(
    "plain",
    "Nothing about x has to be remembered: the slope is the number 2 everywhere, so nothing is saved.",
)
class DoublePlain(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


@double.variant("sum_with_itself")
class SumWithItself(Function):
    @staticmethod
    def forward(ctx, x):
        return x + x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output + grad_output


@double.variant(
    "separate_context",
    "`setup_context` takes the saving out of `forward`; torch.func's transforms (vmap, jvp) ask for this form.",
)
class SeparateContext(Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


@double.variant("torch_call")
class TorchCall(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.mul(x, 2)

    @staticmethod
    def backward(ctx, grad_output):
        (g,) = (grad_output,)
        return torch.mul(g, 2)


EXERCISES = (double,)
