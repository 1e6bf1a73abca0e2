# right: derivative as s(x) * (1 + x * s(-x)), with expit
import torch
from torch.autograd import Function


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.expit(x).mul_(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        expit = torch.special.expit
        return grad_output * expit(x) * (1 + x * expit(-x))
