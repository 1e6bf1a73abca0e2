# wrong: slopes in a global table keyed by the address of x: the same x used twice with different slopes gets the later slope in both backwards
import torch
from torch.autograd import Function

_slopes = {}


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        _slopes[x.data_ptr()] = slope
        ctx.save_for_backward(x)
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, _slopes[x.data_ptr()] * g), None
