"""Cases: sums, means and norms."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/sumsq", "plain")
class SumsqPlain(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(2).sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


@wrong("corpus/sumsq", "item_of_g", "g.item(): detaches the upstream gradient, d/dg is lost in double backward")
class SumsqItemOfG(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x * x).sum()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.item() * 2 * x


@wrong(
    "corpus/sumsq",
    "scaled_by_max",
    "divides by max|x| against overflow: max() of an empty tensor raises, an all-zero input gives nan",
)
class SumsqScaledByMax(Function):
    @staticmethod
    def forward(ctx, x):
        s = x.abs().max()
        ctx.save_for_backward(x)
        return (x / s).pow(2).sum() * s * s

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


@right("corpus/mean", "expand_div")
class MeanExpandDiv(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        n = 1
        for s in ctx.shape:
            n *= s
        return g.expand(ctx.shape) / n


@wrong("corpus/mean", "batch_only", "divides by the first dimension instead of numel")
class MeanBatchOnly(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape) / ctx.shape[0]


@wrong("corpus/mean", "numel_of_gradient", "divides by the size of g (1): the 1/N is missing")
class MeanNumelOfGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x.mean()

    @staticmethod
    def backward(ctx, g):
        return g.expand(ctx.shape) / g.numel()


@right("corpus/cumsum", "flip")
class CumsumFlip(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        return x.cumsum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.flip(ctx.dim).cumsum(ctx.dim).flip(ctx.dim), None


@right("corpus/cumsum", "total_minus", "g + total - cumsum")
class CumsumTotalMinus(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        return torch.cumsum(x, dim)

    @staticmethod
    def backward(ctx, g):
        return g + g.sum(ctx.dim, keepdim=True) - g.cumsum(ctx.dim), None


@wrong("corpus/cumsum", "not_reversed", "forward cumsum of g: adjoint forgotten (right when g is symmetric)")
class CumsumNotReversed(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim = dim
        return x.cumsum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.cumsum(ctx.dim), None


@right("corpus/l2norm", "guarded", "x / |x|, and zero for the zero vector")
class L2normGuarded(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.linalg.vector_norm(x, dim=-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return g.unsqueeze(-1) * torch.where(length == 0, 0.0, x / length)


@wrong("corpus/l2norm", "zero_over_zero", "x / |x| without a guard: NaN for the zero vector")
class L2normZeroOverZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.linalg.vector_norm(x, dim=-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)


@wrong("corpus/l2norm", "length_of_all", "divides every row by the length of the whole tensor")
class L2normLengthOfAll(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.linalg.vector_norm(x, dim=-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * x / torch.linalg.vector_norm(x)
