# right: keeps the output and selects with where and new_zeros
import torch
from torch.autograd import Function


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        y, = ctx.saved_tensors
        return torch.where(y > 0, grad_output, grad_output.new_zeros(()))
