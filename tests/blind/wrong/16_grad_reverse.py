# wrong: for alpha = 0 it returns None instead of a gradient of zeros (x.grad stays None, autograd.grad raises)
import torch
from torch.autograd import Function


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        if not ctx.alpha:
            return None, None
        return g * -ctx.alpha, None
