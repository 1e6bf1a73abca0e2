"""Lesson 02: leaky ReLU, a piecewise operation with a number as its second argument."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Exercise, Reference
from grader.exercises.relu.common import LESSON, NOT_YOURS, TENSOR_ON_CTX, vector
from grader.inputs import Kink, elementwise

__all__ = ["leaky_relu"]

leaky_relu = Exercise(
    id="leaky_relu",
    lesson=LESSON,
    title="A leak with a slope of its own",
    symbol="LeakyReLU",
    kind="function",
    points=4,
    reference=Reference(
        forward=lambda x, slope: torch.where(x > 0, x, slope * x),
        vjp=lambda g, x, slope: (torch.where(x > 0, g, slope * g), None),
    ),
    inputs=elementwise(
        (0.1,), (0.5,), (0.0,), (1.5,), (-0.5,),
        off=(0.0,),
        kinks=(Kink((vector(0.0, -1.0, 2.0), 0.1), low=vector(0.1, 0.1, 1), high=vector(1, 0.1, 1)),),
        at_kinks=[(0.0, -0.0, -3.0, 3.0)],
        extreme=(-1e30, 1e30, 5.0, 1e-12, -1e-12),
        nonfinite=(float("nan"), 1.0, -1.0, float("inf"), float("-inf")),
    ),
    not_derived=("in_place_upstream",),
    hints=(
        "There are two straight pieces again. What is the slope of each?",
        "The number slope goes on ctx as an ordinary attribute; the tensor goes through save_for_backward. "
        "Decide the side by x: for a negative slope the sign of y says something else.",
        "torch.where(condition, a, b) picks element by element. And backward returns as many values as "
        "forward took after ctx: the one for slope, which is no tensor, is None.",
    ),
)  # fmt: skip


@leaky_relu.misconception(
    "slope_on_wrong_side",
    "The slope is on the wrong side: your backward scales the gradient of the positive inputs and lets that "
    "of the negative ones through.",
)
class SlopeOnWrongSide(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, ctx.slope * grad_output, grad_output), None


@leaky_relu.misconception(
    "slope_forgotten",
    "Your backward is that of the plain ReLU: negative inputs get no gradient at all. The leak of the "
    "forward is missing from it.",
)
class SlopeForgotten(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0), None


@leaky_relu.misconception(
    "missing_none",
    "forward takes two inputs after ctx, your backward returns one value. It owes one per input, also for "
    "an input that is a plain number.",
)
class MissingNone(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output)


@leaky_relu.misconception(
    "gradient_for_slope",
    "slope is a plain Python number, yet your backward returns a tensor for it. Autograd has nobody to give "
    "that gradient to and refuses it.",
)
class GradientForSlope(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_slope = (grad_output * x * (x < 0)).sum()
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), grad_slope


@leaky_relu.misconception(
    "slope_squared",
    "On the negative side your gradient is multiplied by the slope twice. Follow one negative element "
    "through your backward and count.",
)
class SlopeSquared(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        scaled = torch.where(x > 0, grad_output, ctx.slope * grad_output)
        return torch.where(x > 0, scaled, ctx.slope * scaled), None


@leaky_relu.misconception(
    "mask_from_output",
    "You tell the pieces apart by the sign of the output. With a slope of 0 or more that works; with a "
    "negative slope a negative input has a positive output.",
)
class MaskFromOutput(Function):
    @staticmethod
    def forward(ctx, x, slope):
        y = torch.where(x > 0, x, slope * x)
        ctx.save_for_backward(y)
        ctx.slope = slope
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.misconception(
    "larger_of_the_two",
    "Your forward takes the larger of x and slope * x. That is the leaky ReLU for slopes up to 1 only: draw "
    "both lines for a slope of 1.5.",
)
class LargerOfTheTwo(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.maximum(x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.misconception(
    "slope_on_the_class",
    "You keep the slope on the class. There is one class for all calls, so the second call overwrites the "
    "slope of the first before its backward runs. What belongs to one call goes on ctx.",
)
class SlopeOnTheClass(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        SlopeOnTheClass.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, SlopeOnTheClass.slope * grad_output), None


@leaky_relu.misconception(
    "fixed_slope",
    "Your backward has a slope written into it. It must be the one this call was made with.",
)
class FixedSlope(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, 0.01 * grad_output), None


@leaky_relu.misconception(
    "mask_by_gradient",
    "You choose the piece by the sign of the gradient. Which line an element was on was decided by the sign "
    "of the input.",
)
class LeakyMaskByGradient(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(grad_output > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.misconception("in_place_scale", NOT_YOURS)
class InPlaceScale(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] *= ctx.slope
        return grad_output, None


@leaky_relu.misconception("kept_on_ctx", TENSOR_ON_CTX)
class LeakyInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.x, ctx.slope = x, slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.x > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.misconception(
    "slopes_in_float32",
    "Almost: your tensor of slopes has torch's default dtype, float32, whatever x has, so in float64 the "
    "slope is off in its ninth digit. Make it in the dtype of x.",
)
class SlopesInFloat32(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.where(x > 0, 1.0, ctx.slope), None


@leaky_relu.variant(
    "where",
    "Both pieces side by side in one `torch.where`, forward and backward alike: hard to get wrong.",
)
class LeakyWhere(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.variant(
    "save_mask",
    "Keeps one byte for each element, as only the side matters and not how far x is from zero.",
)
class LeakySaveMask(Function):
    @staticmethod
    def forward(ctx, x, slope):
        negative = x < 0
        ctx.save_for_backward(negative)
        ctx.slope = slope
        y = x.clone()
        y[negative] *= slope
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (negative,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[negative] *= ctx.slope
        return grad_input, None


@leaky_relu.variant("slopes_tensor")
class LeakySlopes(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return x.clamp(min=0) + slope * x.clamp(max=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        slopes = torch.where(x >= 0, torch.ones_like(x), torch.full_like(x, ctx.slope))
        return grad_output * slopes, None


@leaky_relu.variant("setup_context")
class LeakySetupContext(Function):
    @staticmethod
    def forward(x, slope):
        return F.leaky_relu(x, slope)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.slope = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return None, None
        (x,) = ctx.saved_tensors
        return grad_output.where(x > 0, ctx.slope * grad_output), None
