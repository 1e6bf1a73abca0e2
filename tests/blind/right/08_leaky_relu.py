# right: saves the tensor of slopes (a piecewise constant), one multiplication both ways, extra trailing None
import torch
from torch.autograd import Function


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope=0.01):
        slopes = torch.full_like(x, slope).masked_fill_(x > 0, 1.0)
        ctx.save_for_backward(slopes)
        return x * slopes

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None
