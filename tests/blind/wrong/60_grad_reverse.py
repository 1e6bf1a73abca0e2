# wrong: alpha = 0 is taken for 'not given' and becomes 1
import torch
from torch.autograd import Function


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha=None):
        ctx.alpha = alpha or 1.0
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.alpha * grad_output, None
