# right: einsum with an ellipsis that is summed away, gradients made lazily for needed inputs only, setup_context
import torch
from torch.autograd import Function


class LinearFunction(Function):
    @staticmethod
    def forward(x, weight, bias=None):
        y = torch.einsum("...i,oi->...o", x, weight)
        return y if bias is None else y + bias

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        recipes = (
            lambda: torch.einsum("...o,oi->...i", g, weight),
            lambda: torch.einsum("...o,...i->oi", g, x),
            lambda: torch.einsum("...o->o", g),
        )
        needed = (*ctx.needs_input_grad, False)[:3]
        return tuple(make() if need else None for make, need in zip(recipes, needed, strict=True))
