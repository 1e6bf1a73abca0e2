"""Cases: smooth functions of one tensor."""

from __future__ import annotations

import threading

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.corpus.case import right, wrong


@right("cube", "pow")
class CubePow(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x.pow(2)


@right("cube", "nested_function", "backward is itself a Function with its own backward")
class CubeNestedFunction(Function):
    class Slope(Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 3 * g * x * x

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 3 * x * x * gg, 6 * g * x * gg

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return CubeNestedFunction.Slope.apply(g, x)


@wrong("cube", "wrong_second_backward", "hand-written second backward forgets a factor 2")
class CubeWrongSecondBackward(Function):
    class Slope(Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 3 * g * x * x

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 3 * x * x * gg, 3 * g * x * gg

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return CubeWrongSecondBackward.Slope.apply(g, x)


@wrong("cube", "y_over_x", "3*y/x: nan at x == 0")
class CubeYOverX(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * 3 * y / x


@wrong("cube", "abs_power", "3*|x|*x: right for x > 0 only (checked on rand() it passes)")
class CubeAbsPower(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x.abs() * x


@right("exp", "recompute")
class ExpRecompute(Function):
    @staticmethod
    def forward(ctx, i):
        ctx.save_for_backward(i)
        return torch.exp(i)

    @staticmethod
    def backward(ctx, grad_output):
        (i,) = ctx.saved_tensors
        return grad_output * torch.exp(i)


@wrong("exp", "output_on_ctx", "ctx.y = y: leak, and in-place change of y unnoticed")
class ExpOutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.y


@wrong("exp", "clipped_forward", 'clamps the input at 3 "for stability": values and gradients wrong above')
class ExpClippedForward(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x.clamp(max=3.0))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


@wrong("exp", "thread_local", "state in threading.local: two calls on one thread still clash")
class ExpThreadLocal(Function):
    tl = threading.local()

    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ExpThreadLocal.tl.y = y.detach()
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ExpThreadLocal.tl.y


@wrong("exp", "rows_reshaped", "x.view(x.shape[0], -1): ambiguous -1 for zero rows, IndexError for 0-d")
class ExpRowsReshaped(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x.reshape(x.shape[0], -1)).reshape(x.shape)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return (g.reshape(g.shape[0], -1) * y.reshape(y.shape[0], -1)).reshape(y.shape)


@wrong("corpus/reciprocal", "power_off_by_one", "-1/x instead of -1/x^2")
class ReciprocalPowerOffByOne(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g / x


@wrong("corpus/reciprocal", "eps_in_backward", "eps only in the backward: small bias everywhere")
class ReciprocalEpsInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 1 / x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g / (x * x + 1e-3)


@wrong("exp", "detached_output_on_ctx", "ctx.y = y.detach(): no cycle, but an edit of y goes unnoticed")
class ExpDetachedOutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.y = y.detach()
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * ctx.y


@right("corpus/reciprocal", "from_output", "-y * y, from the saved output")
class ReciprocalFromOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.reciprocal()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -g * y * y
