# wrong: squares the saved output in place: the caller's y is overwritten, and a second backward raises
import torch
from torch.autograd import Function


class FixedTanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        slope = y.pow_(2).neg_().add_(1)
        return g * slope
