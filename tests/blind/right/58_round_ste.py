# right: new-style Function with generate_vmap_rule and an empty setup_context
import torch
from torch.autograd import Function


class RoundSTE(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g.clone()
