# wrong: derivative as e^x (1 + x + e^x) / (1 + e^x)^2: NaN from x = 45 on in float32 (355 in float64); the forward is stable
import torch
from torch.autograd import Function


class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(x)
        return grad_output * e * (1 + x + e) / (1 + e) ** 2
