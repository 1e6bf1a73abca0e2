# wrong: slope taken as 3 y / (x + 1e-8): wrong digits everywhere, infinite at -1e-8, NaN at 0 in float16
import torch
from torch.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * 3 * y / (x + 1e-8)
