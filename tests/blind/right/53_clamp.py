# right: setup_context, minimum of maximum, keeps a bool mask made of method calls
import torch
from torch.autograd import Function


class Clamp(Function):
    @staticmethod
    def forward(x, low, high):
        low, high = x.new_full((), low), x.new_full((), high)
        return torch.minimum(torch.maximum(x, low), high)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, low, high = inputs
        ctx.save_for_backward(x.lt(low).logical_or(x.gt(high)))

    @staticmethod
    def backward(ctx, grad_output):
        (outside,) = ctx.saved_tensors
        return grad_output.masked_fill(outside, 0), None, None
