"""Lesson 03: rounding with a gradient."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.straight_through.common import DECLARED, LESSON, around, step_inputs, vector
from grader.inputs import Kink

__all__ = ["round_ste"]

round_ste = Exercise(
    id="round_ste",
    lesson=LESSON,
    title="Rounding with a gradient",
    symbol="RoundSTE",
    kind="function",
    points=2,
    reference=Reference(forward=torch.round, vjp=lambda g, x: (g * 1.0,)),
    inputs=step_inputs(
        lambda: around([-2, -1, 0, 1, 2, -4, -3, 3, 4]),
        required=5,
        kinks=(Kink((vector(0.5, 1.5, -2.5),), low=vector(1, 1, 1), high=vector(1, 1, 1)),),
        at_kinks=vector(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.0**52 + 1.0),
        extreme=vector(-1e30, -1e-30, 1e-30, 1e30),
    ),
    contract=DECLARED,
    hints=(
        "From far away the staircase of round looks like a line. Which one, and what is its slope?",
        "The surrogate is y = x: what does backward have to do with g, then?",
        "forward is torch.round(x), nothing needs to be saved, and backward hands on what it got.",
    ),
)


@round_ste.misconception(
    "zeros",
    "You return the true derivative of the staircase: zero on every step. Nothing below would learn; return "
    "the gradient of the line the staircase follows.",
)
class TrueGradientOfRound(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


@round_ste.misconception(
    "times_output",
    "You multiply the gradient by the rounded value. backward needs the slope of the surrogate, not its "
    "height.",
)
class TimesRounded(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.round(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@round_ste.misconception(
    "rounds_gradient",
    "You round the gradient as well. Only the forward is quantized; the gradient passes as it is.",
)
class RoundsGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.round(grad_output)


@round_ste.misconception(
    "half_up",
    "Exactly between two integers you always round up. torch.round goes to the even neighbour, and so must "
    "this: 0.5 and 2.5 become 0 and 2.",
)
class HalfUp(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.floor(x + 0.5)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@round_ste.misconception(
    "truncates", "You cut the digits off instead of going to the nearest integer: 1.7 must become 2."
)
class Truncates(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.trunc(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@round_ste.misconception(
    "integer_output",
    "Your output has an integer dtype, which carries no gradient. Rounded numbers are still floats here.",
)
class IntegerOutput(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x).to(torch.int64)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@round_ste.variant(
    "clone",
    "A copy of the gradient costs a little; it is safe even if later code writes into what it is given.",
)
class RoundClone(Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


@round_ste.variant(
    "setup_context",
    "The surrogate y = x hands the gradient on as it is: nothing saved, nothing computed.",
)
class RoundSetup(Function):
    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return (grad_output,)


@round_ste.variant("clone_then_round")
class RoundInPlaceOnCopy(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone().round_()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.ones_like(grad_output)
