# wrong: pieces told apart by the sign of the saved output: wrong side for every negative slope
import torch
from torch.autograd import Function


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        y = torch.where(x > 0, x, slope * x)
        ctx.save_for_backward(y)
        ctx.slope = slope
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, grad_output, ctx.slope * grad_output), None
