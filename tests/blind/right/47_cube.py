# right: forward without ctx plus setup_context, asks needs_input_grad
import torch
from torch.autograd import Function


class Cube(Function):
    @staticmethod
    def forward(x):
        return x.pow(3)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return None
        x, = ctx.saved_tensors
        return x.square().mul(3).mul(grad_output)
