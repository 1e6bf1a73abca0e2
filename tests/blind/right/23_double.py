# right: linear self-adjoint operator: backward applies the Function to g; separate setup_context, jvp and a generated vmap rule
import torch
from torch.autograd import Function


class Double(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.add(x, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return Double.apply(grad_output)

    @staticmethod
    def jvp(ctx, tangent):
        return tangent + tangent
