# right: window found as 'clamp left the code alone', once_differentiable
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale)
        kept = code.clamp(qmin, qmax)
        ctx.save_for_backward(kept == code)
        return kept * scale

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return (torch.where(inside, grad_output, 0.0), *(None,) * 3)
