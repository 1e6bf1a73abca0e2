# right: its own unbroadcast, one sum over the added and stretched dimensions, then reshape
import torch
from torch.autograd import Function


def unbroadcast(grad, shape):
    if grad.shape == shape:
        return grad
    added = grad.dim() - len(shape)
    dims = [d for d in range(grad.dim()) if d < added or (shape[d - added] == 1 and grad.size(d) != 1)]
    return grad.sum(dims).reshape(shape) if dims else grad


class FixedMul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grad_a = unbroadcast(g * b, a.shape) if ctx.needs_input_grad[0] else None
        grad_b = unbroadcast(g * a, b.shape) if ctx.needs_input_grad[1] else None
        return grad_a, grad_b
