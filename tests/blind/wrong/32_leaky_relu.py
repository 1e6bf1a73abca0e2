# wrong: table of slopes cached by slope alone, in the dtype of the first call: later calls get the slope rounded to that dtype
import torch
from torch.autograd import Function

_tables = {}


def _slopes(mask, slope, dtype):
    if slope not in _tables:
        _tables[slope] = torch.tensor([slope, 1.0], dtype=dtype)
    return _tables[slope].to(dtype)[mask.long()]


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        mask = x > 0
        ctx.save_for_backward(mask)
        ctx.slope = slope
        return x * _slopes(mask, slope, x.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (mask,) = ctx.saved_tensors
        return grad_output * _slopes(mask, ctx.slope, grad_output.dtype), None
