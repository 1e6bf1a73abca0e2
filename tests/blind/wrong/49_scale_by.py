# wrong: k is saved as a float32 tensor, so the float64 gradient loses digits while the value is exact
import torch
from torch.autograd import Function


class ScaleBy(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(torch.tensor(k))
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        (k,) = ctx.saved_tensors
        return grad_output * k, None
