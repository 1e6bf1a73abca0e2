"""Lesson 03: a sign with a saturation window."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.straight_through.common import DECLARED, LESSON, NOT_YOURS, step_inputs, vector
from grader.inputs import Kink

__all__ = ["sign_clipped"]

def _sign(x: Tensor) -> Tensor:
    return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))


sign_clipped = Exercise(
    id="sign_clipped",
    lesson=LESSON,
    title="A sign with a saturation window",
    symbol="SignSTE",
    kind="function",
    points=4,
    reference=Reference(forward=_sign, vjp=lambda g, x: (g * (x.abs() <= 1).to(g.dtype),)),
    inputs=step_inputs(
        lambda: [(-3.0, -1.1), (-0.9, -0.1), (0.1, 0.9), (1.1, 3.0)],
        required=4,
        # closed and open windows are both right at |x| = 1
        kinks=(
            Kink((vector(-1.0, 1.0, 0.0, 1.5, -3.0),), low=vector(0, 0, 1, 0, 0), high=vector(1, 1, 1, 0, 0)),
        ),
        at_kinks=vector(0.0, -0.0, -0.3, 0.3, -1.0, 1.0),
        extreme=vector(-1e30, -1e-30, 1e-30, 1e30),
    ),
    contract=DECLARED,
    not_derived=("in_place_upstream",),
    hints=(
        "Draw the surrogate: a line of slope 1 that turns flat at -1 and at 1. Whose size decides where you "
        "are on it, that of x or that of the gradient?",
        "forward has to remember which elements of x lay inside the window. The output cannot tell: it is "
        "-1 or 1 for all of them. And check what torch.sign gives at 0.",
        "Save x (or the bool mask x.abs() <= 1) in forward; in backward multiply g, unclipped, by that "
        "mask. For the value choose between ones and minus ones of x's dtype with x >= 0.",
    ),
)


@sign_clipped.misconception(
    "clips_gradient",
    "You clip the values of the gradient to [-1, 1]. The window belongs to x: where |x| <= 1 the gradient "
    "passes unchanged, however large it is, and elsewhere nothing passes.",
)
class ClipsGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return F.hardtanh(grad_output)


@sign_clipped.misconception(
    "no_window",
    "The gradient passes for every x: the window is missing, or it looks at the output, whose size is "
    "always 1. Elements far outside [-1, 1] are then pushed on and on without the output ever changing.",
)
class NoWindow(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


@sign_clipped.misconception(
    "one_sided",
    "Your window is open below: it stops the gradient for x > 1 but not for x < -1. It has two sides.",
)
class OneSided(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x <= 1)


@sign_clipped.misconception(
    "no_upstream",
    "You return the window itself. backward computes a product: how the loss reacts to y, times how the "
    "surrogate reacts to x. The first factor is missing.",
)
class WindowAlone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x.abs() <= 1).to(x.dtype)


@sign_clipped.misconception(
    "torch_sign",
    "torch.sign(0) is 0, a third value. A binary activation has two: the exercise fixes the value at 0 to "
    "+1.",
)
class TorchSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


@sign_clipped.misconception(
    "minus_at_zero", "At x = 0 your output is -1; the exercise fixes the value there to +1."
)
class MinusAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


@sign_clipped.misconception(
    "window_inverted",
    "Your window is inside out: the gradient passes where |x| > 1 and stops where it should pass.",
)
class WindowInverted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() > 1)


@sign_clipped.misconception(
    "in_place_window",
    NOT_YOURS,
)
class InPlaceWindow(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x.abs() > 1] = 0
        return grad_output


@sign_clipped.misconception(
    "float32_output",
    "torch.where with two Python numbers makes float32, whatever dtype x has. The output must have x's own "
    "dtype.",
)
class Float32Sign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)


@sign_clipped.variant(
    "mask_saved",
    "Keeps the answer to the only question backward has, in one byte for each element.",
)
class SignMaskSaved(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.abs() <= 1)
        return 2 * (x >= 0).to(x.dtype) - 1

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, grad_output, torch.zeros_like(grad_output))


@sign_clipped.variant("strict_window")
class SignStrict(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.sign()
        y[y == 0] = 1
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_x = grad_output.clone()
        grad_x[x >= 1] = 0
        grad_x[x <= -1] = 0
        return grad_x


@sign_clipped.variant(
    "setup_context",
    "Keeps x and asks for the window in backward; costs nothing more where the layer before keeps x.",
)
class SignSetup(Function):
    @staticmethod
    def forward(x):
        return torch.ones_like(x).masked_fill(x < 0, -1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ((x >= -1) & (x <= 1))
