# right: everything inherited from a base class that saves its output; backward is a helper Function that is differentiable itself
import torch
from torch.autograd import Function


class _Times(Function):
    """g * y, differentiable in both, any number of times."""

    @staticmethod
    def forward(ctx, g, y):
        ctx.save_for_backward(g, y)
        return g * y

    @staticmethod
    def backward(ctx, h):
        g, y = ctx.saved_tensors
        return _Times.apply(h, y), _Times.apply(h, g)


class _SavesOutput(Function):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        return _Times.apply(g, *ctx.saved_tensors)


class Exp(_SavesOutput):
    @staticmethod
    def forward(x):
        return torch.exp(x)
