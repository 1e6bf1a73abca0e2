# right: saves input and output and asks where they are equal; the value by index assignment on an own clone
import torch
from torch.autograd import Function


class Clamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = x.clone(memory_format=torch.contiguous_format)
        y[x < low] = low
        y[x > high] = high
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return torch.where(torch.eq(x, y), g, torch.zeros((), dtype=g.dtype)), None, None
