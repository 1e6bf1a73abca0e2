# right: saves input and output and asks whether they are equal; value by minimum/maximum with 0-d tensors
import torch
from torch.autograd import Function


class Clamp(Function):
    @staticmethod
    def forward(ctx, x, low, high):
        y = torch.minimum(torch.maximum(x, x.new_tensor(low)), x.new_tensor(high))
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.where(x.eq(y), g.new_zeros(())), *[None] * 2
