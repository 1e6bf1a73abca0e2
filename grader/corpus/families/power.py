"""Cases: integer powers."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/power", "guards_zero", "n * x^(n-1), and zeros for n = 0")
class PowerGuardsZero(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        if ctx.n == 0:
            return torch.zeros_like(g) * x, None
        return g * ctx.n * x ** (ctx.n - 1), None


@wrong("corpus/power", "exponent_kept", "n * x^n: the exponent was not lowered")
class PowerExponentKept(Function):
    @staticmethod
    def forward(ctx, x, n):
        y = x**n
        ctx.save_for_backward(y)
        ctx.n = n
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * ctx.n * y, None


@wrong("corpus/power", "zero_to_minus_one", "n * x^(n-1) for n = 0: 0 * inf = NaN at x = 0")
class PowerZeroToMinusOne(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None


@wrong("corpus/power", "only_cubes", "backward hard-codes the exponent of the example it was tried on")
class PowerOnlyCubes(Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        return x**n

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x, None
