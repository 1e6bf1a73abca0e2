# right: torch.heaviside with 0 at the jump; backward is variadic and hands its tuple straight back
import torch
from torch.autograd import Function


class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.heaviside(x, x.new_zeros(()))

    @staticmethod
    def backward(ctx, *grads):
        return grads
