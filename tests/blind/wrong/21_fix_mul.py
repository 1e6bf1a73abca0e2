# wrong: sums added leading dims and ONE stretched dim; with two stretched dims, (1, 3, 1) in (2, 3, 4), backward's gradient has the wrong shape (the engine repairs .grad)
import torch
from torch.autograd import Function


def _back(t, like):
    while t.dim() > like.dim():
        t = t.sum(0)
    for d, (have, want) in enumerate(zip(t.shape, like.shape)):
        if have != want:
            return t.sum(d, keepdim=True)
    return t


class FixedMul(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _back(g * b, a), _back(g * a, b)
