# right: comparison written straight into an empty_like by out=
import torch
from torch.autograd import Function


class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.gt(x, 0, out=torch.empty_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
