# wrong: codes go to int8 before the clamp: beyond 127 they wrap around, and value and window are wrong
import torch
from torch.autograd import Function


class FakeQuantize(Function):
    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        q = torch.round(x / scale).to(torch.int8)
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return scale * q.clamp(qmin, qmax).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None
