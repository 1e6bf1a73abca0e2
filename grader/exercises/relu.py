"""Lesson 02: a piecewise operation, and what to save for its backward."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Kink, elementwise

__all__ = ["EXERCISES"]

LESSON = "02_relu"

NOT_YOURS = (
    "Your backward writes into grad_output itself. That tensor is not yours: other branches of the graph "
    "read it too. Leave it as it came and return a new tensor."
)
TENSOR_ON_CTX = (
    "You keep a tensor as an attribute of ctx. Autograd can neither watch it for later edits nor free it in "
    "time: inputs and outputs go through ctx.save_for_backward."
)


def _t(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


# ---------------------------------------------------------------------------------------------------- relu


def _relu(x: Tensor) -> Tensor:
    return torch.where(x <= 0, 0.0, x)


def _relu_vjp(g: Tensor, x: Tensor) -> tuple[Tensor]:
    return (torch.where(x > 0, g, 0.0),)


RELU_INPUTS = elementwise(
    off=(0.0,),
    kinks=(Kink((_t(0.0, -1.0, 2.0),), low=_t(0, 0, 1), high=_t(1, 0, 1)),),
    at_kinks=[(0.0, -3.0, 3.0)],
    extreme=(-1e30, 1e30, 5.0),
    nonfinite=(float("nan"), 1.0, -1.0, float("inf"), float("-inf")),
)

relu = Exercise(
    id="relu",
    lesson=LESSON,
    title="ReLU by hand",
    symbol="MyReLU",
    kind="function",
    points=4,
    reference=Reference(forward=_relu, vjp=_relu_vjp),
    inputs=RELU_INPUTS,
    stages={"gradient": 0.7, "contract": 0.3},
    hints=(
        "Which of its inputs did ReLU let through? Only those may receive gradient.",
        "backward receives g = dL/dy and must return dL/dx: what is dy/dx for x > 0, and what for x < 0?",
        "Save what tells the two cases apart in forward, read it back with ctx.saved_tensors, and multiply "
        "g by that 0/1 mask into a new tensor.",
    ),
)


@relu.misconception("in_place_mask", NOT_YOURS)
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
    "in_place_multiply",
    "Your backward multiplies grad_output in place. That tensor is not yours, and after .sum() it is a "
    "single number seen at every position, which cannot be written to. Return a new tensor.",
)
class InPlaceMultiply(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output.mul_((x > 0).to(grad_output.dtype))


@relu.misconception(
    "nothing_blocked",
    "Your backward hands grad_output on unchanged, so nothing is ever blocked. If you do mask, ask for "
    "which inputs your condition is false: every output of ReLU is at least 0.",
)
class NothingBlocked(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y < 0, torch.zeros_like(grad_output), grad_output)


@relu.misconception(
    "no_upstream",
    "Your backward returns the slope of ReLU alone. The gradient that arrives from above is nowhere in it, "
    "so every loss would give the same answer.",
)
class MaskOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)


@relu.misconception(
    "mask_by_gradient",
    "You mask by the sign of the gradient. Whether ReLU let an element through was decided by the sign of "
    "the input.",
)
class MaskByGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (grad_output > 0)


@relu.misconception(
    "mask_inverted",
    "Your mask is the wrong way round: gradient flows where ReLU blocked the input, and none where it let "
    "it through.",
)
class MaskInverted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x <= 0)


@relu.misconception(
    "times_input",
    "Your backward multiplies by the value of ReLU. What belongs there is its slope: how much y changes "
    "when x does, not how large y is.",
)
class TimesInput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@relu.misconception(
    "counted_twice_at_kink",
    "At x = 0 both your pieces count, so the slope there is 2. Every element belongs to exactly one piece, "
    "and at a kink the slope lies between those of its two sides.",
)
class CountedTwiceAtKink(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x >= 0) + grad_output * (x == 0)


@relu.misconception(
    "output_over_input",
    "You get the slope by dividing the output by the input. At x = 0 that is 0 / 0, and the NaN spreads "
    "through the whole network. A comparison has no such hole.",
)
class OutputOverInput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * (y / x)


@relu.misconception("output_on_ctx", TENSOR_ON_CTX)
class OutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.clamp(min=0)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.y > 0)


@relu.misconception("input_on_ctx", TENSOR_ON_CTX)
class InputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (ctx.x > 0)


@relu.misconception(
    "saved_tuple_not_unpacked",
    "ctx.saved_tensors is a tuple even when it holds one tensor, and a tuple cannot be compared with a "
    "number. Unpack it.",
)
class SavedTupleNotUnpacked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.misconception(
    "nan_hidden",
    "Your forward turns NaN into 0. A comparison with NaN is always false, so NaN fell into your zero "
    "piece; a NaN that disappears is a bug nobody finds.",
)
class NanHidden(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu.misconception(
    "input_overwritten",
    "Your forward changes x itself. The caller still owns that tensor and may use it again: compute the "
    "output into a new one.",
)
class InputOverwritten(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        x[~mask] = 0
        ctx.save_for_backward(mask)
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu.variant("save_input")
class SaveInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


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


@relu.variant("clone_then_zero")
class CloneThenZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.clone()
        y[x < 0] = 0
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] = 0
        return grad_input


@relu.variant("half_at_zero")
class HalfAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.maximum(x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.heaviside(x.detach(), x.new_full((), 0.5))


@relu.variant("setup_context")
class SetupContext(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.relu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


@relu.variant("mask_on_ctx")
class MaskOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        # Neither an input nor an output: nothing can edit it and it makes no cycle.
        ctx.blocked = x <= 0
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.masked_fill(ctx.blocked, 0)


# ---------------------------------------------------------------------------------------------- leaky_relu


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
        kinks=(Kink((_t(0.0, -1.0, 2.0), 0.1), low=_t(0.1, 0.1, 1), high=_t(1, 0.1, 1)),),
        at_kinks=[(0.0, -3.0, 3.0)],
        extreme=(-1e30, 1e30, 5.0),
        nonfinite=(float("nan"), 1.0, -1.0, float("inf"), float("-inf")),
    ),
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


@leaky_relu.misconception("input_on_ctx", TENSOR_ON_CTX)
class LeakyInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.x, ctx.slope = x, slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, grad_output):
        return torch.where(ctx.x > 0, grad_output, ctx.slope * grad_output), None


@leaky_relu.variant("where")
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


@leaky_relu.variant("save_mask")
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
        slopes = torch.where(x >= 0, 1.0, ctx.slope)
        return grad_output * slopes.to(grad_output.dtype), None


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


# --------------------------------------------------------------------------------------------------- clamp


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
        (-0.5, 0.8), (-1.0, 1.0), (0.2, 0.9), (-2.0, -0.1),
        off=lambda low, high: (low, high),
        kinks=(Kink((_t(-0.5, 0.8, -1.0, 0.1, 2.0), -0.5, 0.8), low=_t(0, 0, 0, 1, 0), high=_t(1, 1, 0, 1, 0)),),
        at_kinks=[(-0.5, 0.8, -1.0, 0.1, 2.0)],
        extreme=(-1e30, 1e30, 0.1),
        nonfinite=(float("nan"), 1.5, -1.0, float("inf"), float("-inf")),
    ),
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


@clamp.variant("save_output")
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


@clamp.variant("clone_then_zero")
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


@clamp.variant("setup_context")
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


# ----------------------------------------------------------------------------------------------- relu_mask


relu_mask = Exercise(
    id="relu_mask",
    lesson=LESSON,
    title="ReLU for one byte an element",
    symbol="MaskReLU",
    kind="function",
    points=4,
    reference=Reference(forward=_relu, vjp=_relu_vjp),
    inputs=RELU_INPUTS,
    contract=Contract(saved_bytes=lambda x: x.numel()),
    stages={"forward": 0.1, "gradient": 0.4, "contract": 0.5},
    hints=(
        "What does the backward of ReLU really have to know about each element of x? It is one yes or no.",
        "A comparison gives a tensor of dtype torch.bool, and that takes one byte an element. Build it in "
        "forward, while you still have x.",
        "Only the boolean tensor goes into ctx.save_for_backward: not x, not y, and no conversion of the "
        "mask to float.",
    ),
)


@relu_mask.misconception(
    "saves_input",
    "The gradient is right, but you keep x itself: 4 bytes an element in float32, 8 in float64. Backward "
    "asks each element only a yes-or-no question.",
)
class KeepsInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)


@relu_mask.misconception(
    "saves_output",
    "The gradient is right, but you keep y itself: 4 bytes an element in float32, 8 in float64. Backward "
    "asks each element only a yes-or-no question.",
)
class KeepsOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (y > 0)


@relu_mask.misconception(
    "float_mask",
    "Your mask is a floating-point tensor, as large as x was. A yes or no needs no floating-point number.",
)
class FloatMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > 0).to(x.dtype))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "mask_and_input",
    "You save the mask and a full-sized tensor with it. The mask was meant to replace that one: now "
    "backward costs more memory than before.",
)
class MaskAndInput(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.save_for_backward(x, mask)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        _, mask = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "saves_indices",
    "You save the positions of the positive elements. Each of them is a 64-bit integer per dimension: for a "
    "half-positive matrix that is 8 bytes an element.",
)
class SavesIndices(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x.reshape(-1) > 0).nonzero().squeeze(-1))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        flat = grad_output.reshape(-1)
        return torch.zeros_like(flat).index_copy(0, index, flat[index]).reshape(grad_output.shape)


@relu_mask.misconception("in_place_mask", NOT_YOURS)
class MaskInPlace(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x <= 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (blocked,) = ctx.saved_tensors
        grad_output[blocked] = 0
        return grad_output


@relu_mask.misconception(
    "mask_inverted",
    "Your mask is the wrong way round: gradient flows where ReLU blocked the input, and none where it let "
    "it through.",
)
class SavedMaskInverted(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x <= 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.misconception(
    "no_upstream",
    "Your backward returns the mask alone. The gradient that arrives from above is nowhere in it.",
)
class SavedMaskOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return mask.to(grad_output.dtype)


@relu_mask.variant("bool_mask")
class BoolMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * mask


@relu_mask.variant("sign_in_int8")
class SignInInt8(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x >= 0).to(torch.int8))
        return torch.relu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (sign,) = ctx.saved_tensors
        return torch.where(sign > 0, grad_output, torch.zeros_like(grad_output))


@relu_mask.variant("packed_bits")
class PackedBits(Function):
    @staticmethod
    def forward(ctx, x):
        bits = F.pad((x > 0).reshape(-1).to(torch.uint8), (0, -x.numel() % 8)).reshape(-1, 8)
        weights = 2 ** torch.arange(8, dtype=torch.uint8, device=x.device)
        ctx.save_for_backward((bits * weights).sum(1, dtype=torch.uint8))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (packed,) = ctx.saved_tensors
        weights = 2 ** torch.arange(8, dtype=torch.uint8, device=packed.device)
        mask = (packed.unsqueeze(1) & weights).bool().reshape(-1)[: grad_output.numel()]
        return grad_output * mask.reshape(grad_output.shape)


@relu_mask.variant("setup_context")
class MaskSetupContext(Function):
    @staticmethod
    def forward(x):
        return x.clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output == 0)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (blocked,) = ctx.saved_tensors
        return grad_output.masked_fill(blocked, 0)


# --------------------------------------------------------------------------------------------------- swish


swish = Exercise(
    id="swish",
    lesson=LESSON,
    title="Swish: recompute instead of save",
    symbol="Swish",
    kind="function",
    points=5,
    reference=Reference(
        forward=lambda x: x * torch.sigmoid(x),
        vjp=lambda g, x: (g * torch.sigmoid(x) * (1 + x * torch.sigmoid(-x)),),
    ),
    inputs=elementwise(
        scale=2.0,
        extreme=(-1e4, -800.0, -100.0, -40.0, 40.0, 100.0, 800.0, 1e4),
        nonfinite=(float("nan"), 1.0, -1.0),
    ),
    contract=Contract(saved_tensors=1, saved_bytes=lambda x: x.numel() * x.element_size()),
    hints=(
        "y = x * s with s = sigmoid(x) is a product of two things that both move with x. The product rule "
        "gives two terms.",
        "Save x alone and compute s again in backward. You need the slope of the sigmoid, s * (1 - s), in "
        "one of the terms.",
        "One term is s itself, the other x times the slope of the sigmoid; the sum is multiplied by the "
        "upstream gradient. Take torch.sigmoid: it is finite for every x.",
    ),
)


@swish.misconception(
    "saves_sigmoid",
    "The values are right, but you keep the sigmoid besides x: twice the memory. It can be computed again "
    "from x when backward needs it.",
)
class SavesSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


@swish.misconception(
    "saves_output_too",
    "The values are right, but you keep the output besides x: two full-sized tensors for one backward. "
    "Everything it needs can be computed again from x.",
)
class SavesOutputToo(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + y * (1 - s))


@swish.misconception(
    "first_term_missing",
    "You differentiated the sigmoid and left x standing before it. Both factors of the product move with x; "
    "the term in which x itself moves is missing.",
)
class FirstTermMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * x * s * (1 - s)


@swish.misconception(
    "second_term_missing",
    "You treated the sigmoid as a constant factor. It moves with x as well: the term in which the sigmoid "
    "moves is missing (or cancelled, if a pair of brackets got lost).",
)
class SecondTermMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


@swish.misconception(
    "factor_x_missing",
    "Your second term is the slope of the sigmoid alone. In the product rule each derivative is multiplied "
    "by the other factor.",
)
class FactorXMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + s * (1 - s))


@swish.misconception(
    "product_of_derivatives",
    "You multiplied the derivatives of the two factors. The derivative of a product is a sum of two terms, "
    "each with one factor differentiated.",
)
class ProductOfDerivatives(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s)


@swish.misconception(
    "sigmoid_of_output",
    "Your backward takes the output for the input: it computes the sigmoid of y. The sigmoid of the forward "
    "was that of x.",
)
class SigmoidOfOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        s = torch.sigmoid(y)
        return grad_output * (s + y * s * (1 - s))


@swish.misconception(
    "overflow_in_forward",
    "Your forward is NaN for large x: an exponential overflows to infinity there, and infinity over "
    "infinity is NaN. Choose a form of the sigmoid that never divides two huge numbers.",
)
class OverflowInForward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        e = torch.exp(x)
        return x * e / (1 + e)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@swish.misconception(
    "overflow_in_backward",
    "Your forward is fine, but your backward is NaN for inputs of large size: an exponential overflows in "
    "its formula. Write the slope of the sigmoid by means of the sigmoid itself.",
)
class OverflowInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * ((1 + e + x * e) / (1 + e) ** 2)


@swish.misconception(
    "autograd_inside",
    "Your backward lets autograd differentiate the formula. The exercise is to write that derivative "
    "yourself; building a second graph inside also costs the memory you meant to save.",
)
class AutogradInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = z * torch.sigmoid(z)
        return torch.autograd.grad(y, z, grad_output)[0]


@swish.misconception(
    "backward_inside",
    "Your backward calls .backward() on a graph that still hangs on the caller's x, so its .grad is filled "
    "once by you and once more by autograd. Write the derivative yourself.",
)
class BackwardInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.clone()
            z.retain_grad()
            (z * torch.sigmoid(z)).backward(grad_output)
        return z.grad


@swish.misconception("input_on_ctx", TENSOR_ON_CTX)
class SwishInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.x)
        return grad_output * (s + ctx.x * s * (1 - s))


@swish.variant("product_rule")
class SwishProductRule(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@swish.variant("by_output")
class SwishByOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.silu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        y = x * s
        return grad_output * (y + s * (1 - y))


@swish.variant("exp_of_minus_x")
class SwishExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + torch.exp(-x))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = 1 / (1 + torch.exp(-x))
        return grad_output * s * (1 + x * (1 - s))


@swish.variant("setup_context")
class SwishSetupContext(Function):
    @staticmethod
    def forward(x):
        return x * x.sigmoid()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return None
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return s.mul(x * (1 - s) + 1).mul(grad_output)


EXERCISES = (relu, leaky_relu, clamp, relu_mask, swish)
