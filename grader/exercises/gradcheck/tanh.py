"""Lesson 04: repair a tanh whose backward forgets the upstream gradient."""

from __future__ import annotations

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Exercise, Reference
from grader.inputs import elementwise

__all__ = ["fix_tanh"]


fix_tanh = Exercise(
    id="fix_tanh",
    lesson="04_gradcheck",
    title="Repair a tanh",
    symbol="FixedTanh",
    kind="function",
    points=2,
    reference=Reference(forward=torch.tanh, vjp=lambda g, x: (g * (1 - torch.tanh(x) ** 2),)),
    inputs=elementwise(extreme=(-1e3, -20.0, 0.0, 20.0, 1e3)),
    stages={"gradient": 0.7, "contract": 0.3},
    hints=(
        "Look at the two Jacobians of BrokenTanh above. Which of the six names fits?",
        "What backward returns must be the upstream gradient times the local derivative, element by element.",
        "The saved tensor is the output y, and the derivative of tanh in terms of y is 1 - y². What is "
        "missing beside it?",
    ),
)


@fix_tanh.misconception(
    "product_binds_first",
    "You multiply only y² by the upstream gradient: the product binds more tightly than the difference. "
    "The whole local derivative is to be multiplied.",
)
class ProductBindsFirst(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return 1 - y * y * g


@fix_tanh.misconception(
    "squares_the_input",
    "Your local derivative squares the input. The formula 1 - y² speaks of the output y = tanh(x).",
)
class SquaresTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - x * x)


@fix_tanh.misconception(
    "square_lost",
    "The upstream gradient is there now, but the derivative of tanh is one minus the square of y.",
)
class SquareLost(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y)


@fix_tanh.misconception(
    "adds_the_upstream",
    "You add the upstream gradient to the local derivative. The chain rule multiplies them.",
)
class AddsTheUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g + (1 - y * y)


@fix_tanh.variant(
    "from_the_input",
    "From the input: a second tanh in backward, worth it only where x is kept anyway and y is not.",
)
class FromTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x.tanh().square())


@fix_tanh.variant(
    "g_minus_g_y_squared",
    "tanh's slope in terms of its own output: the exponential is not computed again.",
)
class GMinusGYSquared(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g - g * y * y


@fix_tanh.variant("once_differentiable_factors")
class OnceDifferentiableFactors(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return (1 - y) * (1 + y) * g
