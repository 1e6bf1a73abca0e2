# right: keeps a partial of operator.mul on ctx instead of the number, honours needs_input_grad
import operator
from functools import partial

from torch.autograd import Function


class ScaleBy(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.pull = partial(operator.mul, k)
        return ctx.pull(x)

    @staticmethod
    def backward(ctx, g):
        grads = [None] * len(ctx.needs_input_grad)
        if ctx.needs_input_grad[0]:
            grads[0] = ctx.pull(g)
        return tuple(grads)
