# right: setup_context with *rest for the optional bias, einsum with ellipsis, needs_input_grad decides what is computed and how many are returned
import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(x, weight, bias=None):
        y = torch.einsum("...i,oi->...o", x, weight)
        return y if bias is None else y.add_(bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, *rest = inputs
        ctx.save_for_backward(x, weight)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        recipes = (
            lambda: torch.einsum("...o,oi->...i", g, weight),
            lambda: torch.einsum("...o,...i->oi", g, x),
            lambda: torch.einsum("...o->o", g),
        )
        return tuple(r() if need else None for r, need in zip(recipes, ctx.needs_input_grad))
