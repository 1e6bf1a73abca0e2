# right: in-place on own buffers, window = codes that clamp left alone, keyword defaults, returns a list-built tuple
import torch
from torch.autograd import Function


class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale=1.0, qmin=-8, qmax=7):
        codes = torch.div(x, scale).round_()
        kept = codes.clamp(qmin, qmax)
        ctx.mark_non_differentiable()
        ctx.save_for_backward(codes.eq(kept))
        return kept.mul_(scale)

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return (torch.where(inside, g, torch.zeros_like(g)),) + (None,) * 3
