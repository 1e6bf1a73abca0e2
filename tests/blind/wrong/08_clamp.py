# wrong: gradients are clipped at +-1000 on the way (statement: the gradient passes whole, however large)
import torch
from torch.autograd import Function


class Clamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward((x >= low) & (x <= high))
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return torch.where(inside, g.clamp(-1e3, 1e3), torch.zeros_like(g)), None, None
