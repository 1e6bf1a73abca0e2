# right: tensordot over the leading dimensions, needs_input_grad and sum_to_size
import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        y = torch.matmul(x, weight.t())
        if bias is not None:
            y = y + bias
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = torch.matmul(grad_output, weight)
        if ctx.needs_input_grad[1]:
            lead = list(range(x.dim() - 1))
            gw = torch.tensordot(grad_output, x, dims=(lead, lead))
        if bias is not None and ctx.needs_input_grad[2]:
            gb = grad_output.sum_to_size(bias.shape)
        return gx, gw, gb
