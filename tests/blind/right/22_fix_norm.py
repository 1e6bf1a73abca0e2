# right: saves only x; the first backward is a helper Function with a handwritten second derivative
import torch
from torch.autograd import Function


class _NormGrad(Function):
    """g * x / |x| over the last dimension."""

    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return g.unsqueeze(-1) * x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)

    @staticmethod
    def backward(ctx, h):
        g, x = ctx.saved_tensors
        length = (x * x).sum(-1, keepdim=True).sqrt()
        u = x / length
        along = (u * h).sum(-1, keepdim=True)
        return along.squeeze(-1), g.unsqueeze(-1) * (h - u * along) / length


class FixedNorm(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sqrt(torch.sum(x * x, -1))

    @staticmethod
    def backward(ctx, g):
        return _NormGrad.apply(g, ctx.saved_tensors[0])
