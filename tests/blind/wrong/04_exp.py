# wrong: outputs on a thread-local stack, popped in backward: right when backwards come in reverse order and once each, wrong otherwise
import threading

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

_local = threading.local()


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        if ctx.needs_input_grad[0]:
            if not hasattr(_local, "stack"):
                _local.stack = []
            _local.stack.append(y.detach())
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g * _local.stack.pop()
