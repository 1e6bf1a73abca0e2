# right: boolean indexing into clones of its own
import torch
from torch.autograd import Function


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        left = x <= 0
        ctx.save_for_backward(left)
        ctx.slope = slope
        out = x.clone()
        out[left] *= slope
        return out

    @staticmethod
    def backward(ctx, grad_output):
        (left,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[left] = grad_output[left] * ctx.slope
        return grad, None
