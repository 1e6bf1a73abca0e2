# right: setup_context saves the output; forward fills a buffer of its own with out=; variadic backward
import torch
from torch.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(x):
        buffer = torch.empty_like(x)
        torch.exp(x, out=buffer)
        return buffer

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, *grads):
        return tuple(g.mul(y) for g, y in zip(grads, ctx.saved_tensors, strict=True))
