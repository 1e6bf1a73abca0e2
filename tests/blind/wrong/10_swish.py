# wrong: saves x as told, but the sigmoid stays alive too, hidden in a functools.partial on ctx
from functools import partial

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def _slope(s, x):
    return s * (1 + x * (1 - s))


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x)
        ctx.slope = partial(_slope, s)
        return x * s

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.slope(x)
