# wrong: the code goes through int16 before the clamp: far outliers wrap around, get a wrong value and a gradient
import torch
from torch.autograd import Function


class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        code = torch.round(x / scale).to(torch.int64).to(torch.int16)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return (code.clamp(qmin, qmax).to(x.dtype) * scale)

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return g * inside, None, None, None
