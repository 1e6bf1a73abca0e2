# wrong: works in place when the input needs no gradient: overwrites the caller's data
import torch
from torch.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        if not ctx.needs_input_grad[0]:
            return x.exp_()  # nothing to differentiate, no second buffer needed
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y
