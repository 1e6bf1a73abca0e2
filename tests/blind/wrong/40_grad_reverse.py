# wrong: flips the sign of ctx.alpha in backward: a second backward through a retained graph is not reversed
import torch
from torch.autograd import Function


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        ctx.alpha = -ctx.alpha
        return ctx.alpha * grad_output, None
