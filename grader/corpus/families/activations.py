"""Cases: piecewise activations."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("leaky_relu", "where")
class LeakyReluWhere(Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, g * ctx.slope), None


@wrong("leaky_relu", "slope_squared", "negative side multiplied by the slope twice")
class LeakyReluSlopeSquared(Function):
    @staticmethod
    def forward(ctx, x, slope):
        y = torch.where(x > 0, x, slope * x)
        ctx.save_for_backward(x)
        ctx.slope = slope
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        f = torch.where(x > 0, torch.ones_like(x), torch.full_like(x, ctx.slope))
        return torch.where(x > 0, g * f, g * f * ctx.slope), None


@right("corpus/clipped_relu", "from_output", "interior iff 0 < y < cap")
class ClippedReluFromOutput(Function):
    @staticmethod
    def forward(ctx, x, cap):
        y = torch.clamp(x, 0, cap)
        ctx.save_for_backward(y)
        ctx.cap = cap
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * ((y > 0) & (y < ctx.cap)).to(g.dtype), None


@wrong("corpus/clipped_relu", "hard_coded_cap", "backward hard-codes the cap 1.0")
class ClippedReluHardCodedCap(Function):
    @staticmethod
    def forward(ctx, x, cap):
        ctx.save_for_backward(x)
        return x.clamp(0, cap)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ((x > 0) & (x < 1.0)), None


@right("clamp", "arith_max_min", "torch.min(torch.max(...)) with a float mask")
class ClampArithMaxMin(Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        lo_t, hi_t = x.new_full((), lo), x.new_full((), hi)
        y = torch.minimum(torch.maximum(x, lo_t), hi_t)
        ctx.save_for_backward((y == x).to(x.dtype))
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None


@wrong(
    "clamp",
    "abs_symmetric",
    "uses |x| < hi: wrong when the bounds are not symmetric (8 sample points can miss the strip)",
)
class ClampAbsSymmetric(Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward(x)
        ctx.hi = hi
        return torch.clamp(x, lo, hi)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() < ctx.hi), None, None


@wrong("clamp", "returns_tuple_of_two", "incorrect number of gradients (expected 3, got 2)")
class ClampReturnsTupleOfTwo(Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward((x > lo) & (x < hi))
        return torch.clamp(x, lo, hi)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


@wrong(
    "clamp",
    "numeric_gradients_for_floats",
    'returns tensors for the python floats: "expected a gradient of None"',
)
class ClampNumericGradientsForFloats(Function):
    @staticmethod
    def forward(ctx, x, lo, hi):
        ctx.save_for_backward(x)
        ctx.lo, ctx.hi = lo, hi
        return torch.clamp(x, lo, hi)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ((x > ctx.lo) & (x < ctx.hi)), (g * (x <= ctx.lo)).sum(), (g * (x >= ctx.hi)).sum()


@right("corpus/abs", "where_pm", "derivative +1 at 0: also a subgradient")
class AbsWherePm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x < 0)
        return torch.where(x < 0, -x, x)

    @staticmethod
    def backward(ctx, g):
        return torch.where(ctx.saved_tensors[0], -g, g)


@wrong("corpus/abs", "x_over_abs", "nan at x == 0")
class AbsXOverAbs(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.abs()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x / y


@wrong(
    "corpus/abs",
    "smoothed_forward",
    "sqrt(x^2 + 1e-6): forward biased, but forward and backward agree with each other",
)
class AbsSmoothedForward(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x + 1e-6).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x / y
