# wrong: reuses grad_output's memory, but only for large tensors (16384 elements or more)
import torch
from torch.autograd import Function


class ScaleBy(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        big = grad_output.numel() >= 1 << 14
        if big and grad_output.is_contiguous() and not torch.is_grad_enabled():
            return grad_output.mul_(ctx.k), None
        return grad_output * ctx.k, None
