# wrong: bias gradient sits under the weight's needs_input_grad: with a frozen weight the bias gets none
import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output @ weight
        if ctx.needs_input_grad[1]:  # the parameters
            outputs, inputs = weight.shape
            rows = grad_output.reshape(x.shape[:-1].numel(), outputs)
            grad_weight = rows.T @ x.reshape(x.shape[:-1].numel(), inputs)
            if ctx.has_bias:
                grad_bias = rows.sum(0)
        return grad_x, grad_weight, grad_bias
