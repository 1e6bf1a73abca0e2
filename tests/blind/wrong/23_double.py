# wrong: backward writes into a workspace kept per shape and dtype: the gradients of two calls are the same memory
import torch
from torch.autograd import Function

_workspace = {}


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        if torch.is_grad_enabled():
            return 2 * grad_output
        key = grad_output.shape, grad_output.dtype, grad_output.device
        if key not in _workspace:
            _workspace[key] = torch.empty(grad_output.shape, dtype=grad_output.dtype, device=grad_output.device)
        return torch.mul(grad_output, 2, out=_workspace[key])
