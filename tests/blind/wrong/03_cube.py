# wrong: the slope buffer is multiplied by g in place (through .data): first backward right, second one (retain_graph) wrong, and it overwrites the first result
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x * x)
        return x * x * x

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return slope.data.mul_(g)
