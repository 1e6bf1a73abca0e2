# wrong: divides by y.clamp(min=1e-4): short rows (norm below 1e-4, not zero) get a gradient that is too small
import torch
from torch.autograd import Function


class FixedNorm(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g / y.clamp(min=1e-4)).unsqueeze(-1) * x
