"""Lesson 03: a threshold that trains."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.straight_through.common import DECLARED, LESSON, step_inputs, vector
from grader.inputs import Kink

__all__ = ["binarize"]

binarize = Exercise(
    id="binarize",
    lesson=LESSON,
    title="A threshold that trains",
    symbol="Binarize",
    kind="function",
    points=3,
    reference=Reference(forward=lambda x: (x > 0).to(x.dtype), vjp=lambda g, x: (g * 1.0,)),
    inputs=step_inputs(
        lambda: [(-3.0, -1.1), (-0.9, -0.1), (0.1, 0.9), (1.1, 3.0)],
        required=4,
        kinks=(Kink((vector(0.0, -1.0, 1.0),), low=vector(1, 1, 1), high=vector(1, 1, 1)),),
        at_kinks=vector(0.0, -0.0, -1.0, 1.0),
        extreme=vector(-1e30, -1e-30, 1e-30, 1e30),
    ),
    contract=DECLARED,
    hints=(
        "Two separate decisions: what value comes out, and what gradient you declare. The first may be as "
        "flat as it likes.",
        "(x > 0) is a bool tensor, which cannot carry a gradient. Turn it into numbers of the dtype that x "
        "has, whatever that is.",
        "Use .to(x.dtype) on the comparison in forward. The surrogate is the line y = x: backward needs "
        "nothing saved, because the slope of that line is the same everywhere.",
    ),
)


@binarize.misconception(
    "float32_output",
    "Your output is float32 whatever comes in: .float() is not 'a float', it is torch.float32. A float64 "
    "model silently loses its precision here, a bfloat16 one its memory.",
)
class FloatOutput(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.misconception(
    "bool_output",
    "Your output is a bool tensor. Only floating-point tensors carry gradients, so autograd drops the whole "
    "branch.",
)
class BoolOutput(Function):
    @staticmethod
    def forward(ctx, x):
        return x > 0

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.misconception(
    "zeros",
    "You return the true derivative of a step, which is zero wherever it exists. That is exactly what keeps "
    "the layers below from learning: declare another gradient.",
)
class TrueGradientOfStep(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.zeros_like(grad_output)


@binarize.misconception(
    "detached",
    "Your output is cut off from the graph: autograd takes it for a constant and never asks your backward.",
)
class CutOff(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x > 0).to(x.dtype)
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.misconception(
    "times_output",
    "You multiply by the output, so only elements that came out as 1 get a gradient. An element at 0 could "
    "then never be moved back across the threshold. The declared surrogate has the same slope everywhere.",
)
class TimesOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x > 0).to(x.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@binarize.misconception(
    "one_at_zero",
    "At x = 0 your output is 1. The exercise says x > 0: zero itself is not above the threshold.",
)
class OneAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        return (x >= 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.misconception(
    "plus_minus_one",
    "Your two values are -1 and +1. This exercise asks for 0 and 1; the signs are the next one.",
)
class PlusMinusOne(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * (x > 0).to(x.dtype) - 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.misconception(
    "windowed",
    "You stop the gradient for large |x|. That is a good surrogate, but not the one declared here: this "
    "exercise lets everything through.",
)
class Windowed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


@binarize.variant(
    "plain",
    "Value and gradient are two separate decisions: a comparison in x's own dtype, and the identity.",
)
class BinarizePlain(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.variant("new_tensor")
class StepFilled(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.zeros_like(x)
        y[x > 0] = 1
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()


@binarize.variant(
    "setup_context",
    "`torch.heaviside` says by name what it does at 0, and `setup_context` is the form that torch.func asks for.",
)
class StepSetup(Function):
    @staticmethod
    def forward(x):
        return torch.heaviside(x, torch.zeros((), dtype=x.dtype, device=x.device))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@binarize.variant("asked_only")
class StepAskedOnly(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x > 0, torch.ones_like(x), torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return 1 * grad_output if ctx.needs_input_grad[0] else None
