"""Cases: softplus."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/softplus", "stable", "max(x, 0) + log1p(exp(-|x|)), sigmoid from the saved input")
class SoftplusStable(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


@right("corpus/softplus", "from_output", "1 - exp(-y) by expm1, from the saved output")
class SoftplusFromOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.logaddexp(x, torch.zeros_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -g * torch.expm1(-y)


@wrong("corpus/softplus", "naive_log", "log(1 + exp(x)): inf for large x although the value is x")
class SoftplusNaiveLog(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log(1 + torch.exp(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


@wrong("corpus/softplus", "early_threshold", "takes softplus for the identity from x = 5: off by 0.007 there")
class SoftplusEarlyThreshold(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x > 5, x, torch.log1p(torch.exp(x.clamp(max=5))))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x)


@wrong("corpus/softplus", "saved_slope", "saves sigmoid(x) as an intermediate: second derivative silently 0")
class SoftplusSavedSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(torch.sigmoid(x))
        return x.clamp(min=0) + torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return g * slope
