# wrong: a bias of zeros (as freshly initialised) is taken for no bias and gets no gradient
import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.has_bias = bias is not None and bool(bias.any())
        ctx.save_for_backward(x, weight)
        y = x @ weight.t()
        return y + bias if ctx.has_bias else y

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        rows = g.reshape(-1, weight.shape[0])
        gx = g @ weight
        gw = rows.t() @ x.reshape(-1, weight.shape[1])
        return gx, gw, rows.sum(0) if ctx.has_bias else None
