# wrong: slope 3y/x with a where for x = 0: first derivative right, second derivative NaN at 0 (and lost in float16)
import torch
from torch.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        slope = torch.where(x == 0, torch.zeros_like(x), 3 * y / x)
        return grad_output * slope
