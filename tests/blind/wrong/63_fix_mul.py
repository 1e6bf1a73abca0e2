# wrong: unbroadcast sums the stretched dimensions before the added ones, by position from the left: wrong shape when a shape is broadcast both ways
import torch
from torch.autograd import Function


def unbroadcast(grad, shape):
    for dim, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(dim, keepdim=True)
    while grad.dim() > len(shape):
        grad = grad.sum(0)
    return grad


class FixedMul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return unbroadcast(g * b, a.shape), unbroadcast(g * a, b.shape)
