# right: where on 0-d constants; the window is an exclusive-or of two comparisons, saved as bool (slope 0 at the ends)
import torch
from torch.autograd import Function


class SignSTE(Function):
    @staticmethod
    def forward(ctx, x):
        one = x.new_ones(())
        ctx.save_for_backward(torch.logical_xor(x > -1, x >= 1))
        return torch.where(x >= 0, one, -one)

    @staticmethod
    def backward(ctx, g):
        (window,) = ctx.saved_tensors
        return torch.where(window, g, g.new_zeros(()))
