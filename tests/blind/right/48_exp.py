# right: backward clones the upstream gradient and multiplies the clone in place
import torch
from torch.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, input):
        result = input.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_output):
        (result,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input.mul_(result)
        return grad_input
