# wrong: backward clamps the sigmoid's argument to +-15: the slope is wrong by x * 3e-7 in the tails (0.3 percent at 1e4)
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
        s = torch.sigmoid(x.clamp(-15, 15))  # saturated anyway
        return grad_output * s * (1 + x * (1 - s))
