# right: (1 - y)(1 + y), once_differentiable
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class FixedTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * ((1 - y) * (1 + y))
