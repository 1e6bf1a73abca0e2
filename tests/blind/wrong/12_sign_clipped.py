# wrong: the window is found by truncation to int32: |x| >= 2**31 overflows and the gradient passes there
import torch
from torch.autograd import Function


class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x >= 0).to(x.dtype) * 2 - 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.to(torch.int32).abs() < 1)
