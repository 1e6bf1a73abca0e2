# right: comparison written with out= straight into a tensor of x's dtype, backward returns a view of g
import torch
from torch.autograd import Function


class Binarize(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.gt(x, 0, out=torch.empty_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.view_as(grad_output)
