# wrong: keeps float64 and float32, but turns bfloat16 and float16 into float32
import torch
from torch.autograd import Function


class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        hot = x > 0
        return hot.double() if x.dtype == torch.float64 else hot.float()

    @staticmethod
    def backward(ctx, g):
        return g
