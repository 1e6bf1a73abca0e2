# right: window found by comparing x with its own clamp, value as 2*[x>=0]-1 in x's dtype, setup_context recomputes the mask
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class SignSTE(Function):
    @staticmethod
    def forward(x):
        return x.ge(0).to(x.dtype).mul_(2).sub_(1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x.clamp(-1, 1).ne(x))

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (outside,) = ctx.saved_tensors
        own = g.clone()
        own.masked_fill_(outside, 0)
        return own
