"""Lesson 03: fake quantization."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.exercises.straight_through.common import DECLARED, LESSON, around, step_inputs, vector
from grader.inputs import Kink

__all__ = ["fake_quantize"]

Interval = tuple[float, float]


def levels(scale: float, qmin: int, qmax: int) -> list[Interval]:
    """Where x may lie: off the rounding ties, hence off the window's edges (half a step beyond the ends).

    First both saturated sides, the middle, and the outer halves of both end codes (outside the range, yet
    rounded back onto an end); then every code.
    """
    steps = [
        *around([qmin - 2, qmax + 2, (qmin + qmax) // 2]),
        *around([qmin], -0.4, -0.15),
        *around([qmax], 0.15, 0.4),
        *around(range(qmin - 3, qmax + 4)),
    ]
    return [(scale * low, scale * high) for low, high in steps]


def _quantize(x: Tensor, scale: float, qmin: int, qmax: int) -> Tensor:
    return scale * torch.clamp(torch.round(x / scale), qmin, qmax)


def _quantize_vjp(g: Tensor, x: Tensor, scale: float, qmin: int, qmax: int) -> tuple[Any, ...]:
    code = torch.round(x / scale)
    return g * ((code >= qmin) & (code <= qmax)).to(g.dtype), None, None, None


fake_quantize = Exercise(
    id="fake_quantize",
    lesson=LESSON,
    title="Fake quantization, as in quantization-aware training",
    symbol="FakeQuantize",
    kind="function",
    points=5,
    reference=Reference(forward=_quantize, vjp=_quantize_vjp),
    inputs=step_inputs(
        levels,
        (0.25, -4, 3),
        (0.1, -8, 7),
        (0.5, 0, 15),
        (1.0, -2, 1),
        required=5,
        # 0.8 and -1.1 lie outside [scale * qmin, scale * qmax] = [-1, 0.75] but round back onto an end
        kinks=(
            Kink(
                (vector(0.70, 0.75, -0.98, 0.9, -1.3, 0.8, -1.1), 0.25, -4, 3),
                low=vector(1, 1, 1, 0, 0, 1, 1),
                high=vector(1, 1, 1, 0, 0, 1, 1),
            ),
        ),
        at_kinks=vector(0.125, 0.375, -0.125, -0.375, 0.75, -1.0, 0.8, -1.1),
        extreme=vector(-1e30, 1e-30, 1e30),
    ),
    contract=DECLARED,
    hints=(
        "Compute the code round(x / scale) once. The value and the window both depend on it, and on nothing "
        "else.",
        "The window asks: did this element have a code of its own, or did clamp have to move it? An element "
        "whose code is qmin or qmax itself was not moved.",
        "Save the bool mask (code >= qmin) & (code <= qmax), taken before the clamp. backward returns g "
        "times the mask, and three Nones. No scale appears: the x / scale at the front and the scale * at "
        "the end cancel.",
    ),
)


@fake_quantize.misconception(
    "no_window",
    "The gradient passes everywhere, also where clamp moved the code. Either there is no window, or it "
    "looks at codes that are already clamped and never closes. A saturated element does not move its "
    "output.",
)
class QuantizeNoWindow(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        return scale * torch.clamp(torch.round(x / scale), qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None, None, None


@fake_quantize.misconception(
    "divided_by_scale",
    "A factor 1/scale is left in your gradient. x is divided by the scale before rounding, and the code is "
    "multiplied by it afterwards: follow both through the chain rule.",
)
class DividedByScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.scale = scale
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside / ctx.scale, None, None, None


@fake_quantize.misconception(
    "times_scale",
    "A factor scale is left in your gradient. The code is multiplied by it, but before that x was divided "
    "by it: follow both through the chain rule.",
)
class TimesScale(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.scale = scale
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside * ctx.scale, None, None, None


@fake_quantize.misconception(
    "window_on_x",
    "You compare x itself with qmin and qmax. Those are integer codes; x is in other units until it is "
    "divided by the scale.",
)
class WindowOnX(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward((x >= qmin) & (x <= qmax))
        return scale * torch.clamp(torch.round(x / scale), qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "window_on_unrounded",
    "Your window looks at x / scale before rounding and is half a step too narrow on each side: what lies "
    "just outside but still rounds onto an end code loses its gradient.",
)
class WindowOnUnrounded(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        v = x / scale
        ctx.save_for_backward((v >= qmin) & (v <= qmax))
        return scale * torch.clamp(torch.round(v), qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "ends_lost",
    "Elements whose code is exactly qmin or qmax get no gradient from you. The ends belong to the window; "
    "in a 2-bit range they are half of all codes.",
)
class EndsLost(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward((code > qmin) & (code < qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "one_sided", "Your window has one side only: elements below the range still get their gradient."
)
class QuantizeOneSided(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward(code <= qmax)
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "integer_code",
    "You return the integer code. Fake quantization gives back a number in the units of x, so that the rest "
    "of the model can go on computing with it.",
)
class IntegerCode(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "no_clamp",
    "Codes outside the range come out as they are: you rounded but did not clamp to qmin and qmax.",
)
class NoClamp(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * code

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "half_up",
    "Exactly between two codes you always round up. torch.round goes to the even one, and so must this.",
)
class QuantizeHalfUp(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.floor(x / scale + 0.5)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "truncates",
    "You cut x / scale down to an integer instead of going to the nearest one (an integer cast does that, "
    "too).",
)
class QuantizeTruncates(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.trunc(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "through_int32",
    "Your codes pass through an integer dtype and come back as float32, whatever dtype x has. A code can "
    "stay a floating-point number with an integer value.",
)
class ThroughInt32(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * code.to(torch.int32).clamp(qmin, qmax).float()

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None


@fake_quantize.misconception(
    "missing_nones",
    "backward returns one value, but forward had four inputs. There is one slot per input of forward; those "
    "without a gradient get None.",
)
class QuantizeMissingNones(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * torch.clamp(code, qmin, qmax)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside


@fake_quantize.variant(
    "save_x_and_recompute",
    "Keeps x and rounds again in backward: more memory than the mask, unless x is kept by another layer anyway.",
)
class QuantizeRecompute(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        ctx.save_for_backward(x)
        ctx.scale, ctx.qmin, ctx.qmax = scale, qmin, qmax
        return torch.clamp(torch.round(x / scale), qmin, qmax) * scale

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        code = torch.round(x / ctx.scale)
        outside = (code < ctx.qmin) | (code > ctx.qmax)
        return grad_output.masked_fill(outside, 0), None, None, None


@fake_quantize.variant(
    "unmoved_by_clamp",
    "The window is where the clamp moved nothing: no bound is compared twice, and one byte for each element is "
    "kept.",
)
class QuantizeUnmoved(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = (x / scale).round()
        clamped = code.clamp(qmin, qmax)
        ctx.save_for_backward(code == clamped)
        return scale * clamped

    @staticmethod
    def backward(ctx, grad_output):
        (unmoved,) = ctx.saved_tensors
        return torch.where(unmoved, grad_output, torch.zeros_like(grad_output)), None, None, None


@fake_quantize.variant("setup_context")
class QuantizeSetup(Function):
    @staticmethod
    def forward(x, scale, qmin, qmax):
        return scale * torch.clamp(torch.round(x / scale), qmin, qmax)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, qmin, qmax = inputs
        code = torch.round(x / scale)
        ctx.save_for_backward(torch.logical_and(code >= qmin, code <= qmax))

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside.to(grad_output.dtype), None, None, None
