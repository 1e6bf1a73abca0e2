# wrong: window by distance from its middle: with an infinite bound (one-sided clamp) inf <= inf lets the gradient pass everywhere, also below low
import torch
from torch.autograd import Function


class Clamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.middle, ctx.radius = (low + high) / 2, (high - low) / 2
        return x.clamp(low, high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        inside = (x - ctx.middle).abs() <= ctx.radius
        return torch.where(inside, grad_output, torch.zeros_like(grad_output)), None, None
