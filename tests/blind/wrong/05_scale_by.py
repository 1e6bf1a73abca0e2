# wrong: k is kept as torch.tensor(k), which is float32: in float64 the gradient has 8 digits only
import torch
from torch.autograd import Function


class ScaleBy(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(torch.tensor(k, dtype=torch.float32))
        return x * k

    @staticmethod
    def backward(ctx, g):
        (k,) = ctx.saved_tensors
        return g * k, None
