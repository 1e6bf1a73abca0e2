# wrong: rounds by the magic number 1.5/eps: halves are right, but numbers of 1/eps and more are changed (float32: 8388609 -> 8388608)
import torch
from torch.autograd import Function


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        magic = 1.5 / torch.finfo(x.dtype).eps
        return (x + magic) - magic

    @staticmethod
    def backward(ctx, g):
        return g.clone()
