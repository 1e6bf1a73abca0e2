# right: forward returns x itself, once_differentiable backward, alpha default, needs_input_grad respected
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class GradReverse(Function):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        ctx.settings = {"factor": -float(alpha)}
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        if not ctx.needs_input_grad[0]:
            return None, None
        return torch.mul(grad, ctx.settings["factor"]), None
