# right: set_materialize_grads(False) with a None guard, a view as output
import torch
from torch.autograd import Function


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.set_materialize_grads(False)
        ctx.neg_alpha = -float(alpha)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        return grad_output * ctx.neg_alpha, None
