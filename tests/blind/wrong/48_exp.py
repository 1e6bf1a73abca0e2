# wrong: saves a clone of the output 'to be safe': an intermediate, so the second derivative is silently wrong (and the memory doubles)
import torch
from torch.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y.clone())  # the caller may edit y
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
