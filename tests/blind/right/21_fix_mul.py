# right: setup_context, own unbroadcast by computed dims, needs_input_grad, einsum-free
import torch
from torch.autograd import Function


def _fold(t, shape):
    extra = t.dim() - len(shape)
    dims = [d for d in range(t.dim()) if d < extra or (shape[d - extra] == 1 and t.shape[d] != 1)]
    return (t.sum(dim=dims) if dims else t).reshape(shape)


class FixedMul(Function):
    @staticmethod
    def forward(a, b):
        return torch.mul(a, b)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        pair = ctx.saved_tensors
        grads = []
        for mine, other, need in zip(pair, pair[::-1], ctx.needs_input_grad):
            grads.append(_fold(g * other, mine.shape) if need else None)
        return tuple(grads)
