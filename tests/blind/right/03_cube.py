# right: the value by NumPy (through float64), setup_context style, second derivative refused by once_differentiable
import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


def _to_numpy(t):
    return t.detach().to(torch.float64).cpu().numpy()


def _like(array, t):
    return torch.as_tensor(np.array(array, dtype=np.float64)).to(t.dtype).reshape(t.shape)


class Cube(Function):
    @staticmethod
    def forward(x):
        a = _to_numpy(x)
        return _like(a * a * a, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.addcmul(torch.zeros_like(x), x * g, x, value=3)
