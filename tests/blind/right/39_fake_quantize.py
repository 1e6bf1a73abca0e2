# right: backward inherited from a base Function that gates g; forward works in place on its own temporaries
import torch
from torch.autograd import Function


class _Gate(Function):
    """Passes g except where the saved bool tensor is True."""

    @staticmethod
    def backward(ctx, g):
        (closed,) = ctx.saved_tensors
        return (g.masked_fill(closed, 0), *(None for _ in ctx.needs_input_grad[1:]))


class FakeQuantize(_Gate):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        q = x.div(scale).round_()
        code = q.clip(qmin, qmax)
        ctx.save_for_backward(q.ne(code))
        return code.mul_(scale)
