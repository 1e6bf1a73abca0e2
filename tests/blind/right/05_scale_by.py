# right: k kept as a saved 0-d float64 tensor and read back by item() (no promotion, no digit lost), keyword default, one None more than needed at the end
import torch
from torch.autograd import Function


class ScaleBy(Function):
    @staticmethod
    def forward(ctx, x, k=1.0):
        factor = torch.tensor(k, dtype=torch.float64)
        ctx.save_for_backward(factor)
        return x * k

    @staticmethod
    def backward(ctx, g):
        factor, = ctx.saved_tensors
        return torch.mul(g, factor.item()), None, None
