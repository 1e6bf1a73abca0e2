# wrong: rounds by adding and subtracting 1.5 * 2**23, which works in float32 only
import torch
from torch.autograd import Function


_MAGIC = 1.5 * 2.0**23


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return (x + _MAGIC) - _MAGIC

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
