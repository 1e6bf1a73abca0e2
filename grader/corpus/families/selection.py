"""Cases: maxima with ties, and indexing."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/amax", "split_evenly", "ties share the gradient evenly")
class AmaxSplitEvenly(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.amax(dim)
        m = (x == y.unsqueeze(dim)).to(x.dtype)
        ctx.save_for_backward(m / m.sum(dim, keepdim=True))
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (w,) = ctx.saved_tensors
        return w * g.unsqueeze(ctx.dim), None


@right("corpus/amax", "argmax_and_gather", "index marked non-differentiable as a second output")
class AmaxArgmaxAndGather(Function):
    @classmethod
    def apply(cls, x, dim):
        return super().apply(x, dim)[0]

    @staticmethod
    def forward(ctx, x, dim):
        v, i = torch.max(x, dim)
        ctx.mark_non_differentiable(i)
        ctx.save_for_backward(i)
        ctx.shape, ctx.dim = x.shape, dim
        return v, i

    @staticmethod
    def backward(ctx, gv, gi):
        (i,) = ctx.saved_tensors
        z = gv.new_zeros(ctx.shape)
        return z.scatter(ctx.dim, i.unsqueeze(ctx.dim), gv.unsqueeze(ctx.dim)), None


@wrong("corpus/amax", "isclose_mask", "mask by tolerance: near-maximal elements receive gradient")
class AmaxIscloseMask(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.amax(dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        m = torch.isclose(x, y.unsqueeze(ctx.dim)).to(g.dtype)
        return m / m.sum(ctx.dim, keepdim=True) * g.unsqueeze(ctx.dim), None


@wrong("corpus/amax", "global_argmax", "argmax over the flattened tensor")
class AmaxGlobalArgmax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.amax(dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = torch.zeros_like(x)
        out.view(-1)[x.reshape(-1).argmax()] = g.sum()
        return out, None


@wrong(
    "corpus/amax",
    "softmax_gradient",
    "returns a softmax-weighted gradient: smooth, but not the derivative of max",
)
class AmaxSoftmaxGradient(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return x.amax(dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.softmax(x * 10, ctx.dim) * g.unsqueeze(ctx.dim), None


@wrong(
    "corpus/amax",
    "cpu_zeros",
    'torch.zeros(shape) in backward: fine on CPU, "expected device cuda:0 but got cpu" elsewhere',
)
class AmaxCpuZeros(Function):
    @staticmethod
    def forward(ctx, x, dim):
        v, i = x.max(dim)
        ctx.save_for_backward(i)
        ctx.meta = (x.shape, dim)
        return v

    @staticmethod
    def backward(ctx, g):
        (i,) = ctx.saved_tensors
        shape, dim = ctx.meta
        return torch.zeros(shape, dtype=g.dtype).scatter(dim, i.unsqueeze(dim), g.unsqueeze(dim)), None


@right("corpus/take_rows", "index_add")
class TakeRowsIndexAdd(Function):
    @staticmethod
    def forward(ctx, x, idx):
        ctx.save_for_backward(idx)
        ctx.n = x.shape
        return x[idx]

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        return g.new_zeros(ctx.n).index_add(0, idx, g), None


@wrong("corpus/take_rows", "cpu_zeros", "torch.zeros without device in backward")
class TakeRowsCpuZeros(Function):
    @staticmethod
    def forward(ctx, x, idx):
        ctx.save_for_backward(idx)
        ctx.n = x.shape
        return x[idx]

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        return torch.zeros(ctx.n, dtype=g.dtype).index_add(0, idx, g), None


@right("corpus/maximum", "first_wins_ties", "the first operand takes the whole gradient of a tie")
class MaximumFirstWinsTies(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a >= b)
        ctx.shapes = a.shape, b.shape
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, g):
        (first,) = ctx.saved_tensors
        return (g * first).sum_to_size(ctx.shapes[0]), (g * ~first).sum_to_size(ctx.shapes[1])


@right(
    "corpus/maximum",
    "half_each",
    "a tie is shared, as torch.maximum does; the engine reduces broadcast operands",
)
class MaximumHalfEach(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.where(a > b, a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        share = torch.heaviside((a - b).detach(), g.new_full((), 0.5))
        return g * share, g * (1 - share)


@wrong("corpus/maximum", "both_at_ties", ">= in both masks: at a tie the gradient counts twice")
class MaximumBothAtTies(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * (a >= b)).sum_to_size(a.shape), (g * (b >= a)).sum_to_size(b.shape)


@wrong("corpus/maximum", "none_at_ties", "> in both masks: at a tie the gradient is lost")
class MaximumNoneAtTies(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.maximum(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * (a > b)).sum_to_size(a.shape), (g * (b > a)).sum_to_size(b.shape)


@wrong(
    "corpus/amax",
    "all_ties_in_full",
    "every tied element gets the whole gradient: a row receives it several times",
)
class AmaxAllTiesInFull(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = x.amax(dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (x == y.unsqueeze(ctx.dim)) * g.unsqueeze(ctx.dim), None
