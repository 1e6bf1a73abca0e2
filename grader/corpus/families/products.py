"""Cases: matrix products and linear layers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/matmul", "mm_t")
class MatmulMmT(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a.mm(b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g.mm(b.t()), a.t().mm(g)


@wrong(
    "corpus/matmul",
    "shape_driven_transpose",
    '"transpose if the shapes do not match": right for rectangular inputs, wrong for square ones',
)
class MatmulShapeDrivenTranspose(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        gb = g.t() @ a
        if gb.shape != b.shape:
            gb = gb.t()
        return g @ b.t(), gb


@wrong("corpus/matmul", "swapped", "returns (grad_b, grad_a)")
class MatmulSwapped(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return a.t() @ g, g @ b.t()


@wrong(
    "corpus/matmul",
    "data_ptr_layout",
    "reads the operand's memory as if it were row-major: silently transposed values",
)
class MatmulDataPtrLayout(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        raw = torch.as_strided(a, a.shape, (a.shape[1], 1))
        return raw @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.t(), torch.as_strided(a, a.shape, (a.shape[1], 1)).t() @ g


@right("corpus/matmul", "extra_trailing_none", "one None too many at the end: trailing Nones are ignored")
class MatmulExtraTrailingNone(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.T, a.T @ g, None


@wrong("corpus/matmul", "list_returned", "backward returns a list instead of a tuple")
class MatmulListReturned(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return [g @ b.t(), a.t() @ g]


@wrong(
    "corpus/matmul",
    "forward_without_ctx_or_setup",
    "forward(a, b) without ctx and without setup_context: arguments shifted by one",
)
class MatmulForwardWithoutCtxOrSetup(Function):
    @staticmethod
    def forward(a, b):
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g @ b.t(), a.t() @ g


@right("corpus/bmm_any", "sum_to_size", "any batch broadcasting: sum_to_size")
class BmmAnySumToSize(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g @ b.mT).sum_to_size(a.shape), (a.mT @ g).sum_to_size(b.shape)


@right("corpus/bmm_any", "engine_reduces", "leaves the batch reduction to the engine")
class BmmAnyEngineReduces(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.matmul(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return torch.matmul(g, b.transpose(-1, -2)), torch.matmul(a.transpose(-1, -2), g)


@right("corpus/linear", "two_d_flatten", "flattens leading dims; any input rank")
class LinearTwoDFlatten(Function):
    @staticmethod
    def forward(ctx, x, w, b=None):
        ctx.save_for_backward(x, w)
        ctx.has_bias = b is not None
        y = x @ w.t()
        return y + b if b is not None else y

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        g2, x2 = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        return g @ w, g2.t() @ x2, (g2.sum(0) if ctx.has_bias else None)


@right("corpus/linear", "needs_input_grad")
class LinearNeedsInputGrad(Function):
    @staticmethod
    def forward(ctx, inp, weight, bias=None):
        ctx.save_for_backward(inp, weight)
        return F.linear(inp, weight, bias)

    @staticmethod
    def backward(ctx, g):
        inp, weight = ctx.saved_tensors
        gi = gw = gb = None
        if ctx.needs_input_grad[0]:
            gi = torch.matmul(g, weight)
        if ctx.needs_input_grad[1]:
            gw = torch.einsum("...o,...i->oi", g, inp)
        if len(ctx.needs_input_grad) > 2 and ctx.needs_input_grad[2]:
            gb = g.sum(dim=tuple(range(g.dim() - 1))) if g.dim() > 1 else g
        return gi, gw, gb


@right(
    "corpus/linear",
    "sum_zero_engine",
    "g.sum(0) for the bias: on 3-D input the engine finishes the reduction",
)
class LinearSumZeroEngine(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return torch.matmul(x, w.mT) + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        if x.dim() == 1:
            return g @ w, torch.outer(g, x), g
        return g @ w, g.mT @ x, g.sum(0)


@wrong(
    "corpus/linear",
    "weight_grad_transposed_back",
    "x.T @ g without the final transpose: error, silent wrong for square weights",
)
class LinearWeightGradTransposedBack(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gw = x.t() @ g
        return g @ w, (gw if gw.shape == w.shape else gw.t()), g.sum(0)


@wrong("corpus/linear", "bias_gradient_none", "bias gradient None: the bias never trains")
class LinearBiasGradientNone(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.t() @ x, None


@wrong(
    "corpus/linear",
    "grad_accumulated_manually",
    "adds into w.grad by hand AND returns the gradient: weight gradient doubled on leaves",
)
class LinearGradAccumulatedManually(Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        gw = g.t() @ x
        if w.is_leaf and w.requires_grad:
            w.grad = gw.clone() if w.grad is None else w.grad + gw
        return g @ w, gw, g.sum(0)


@right("corpus/linear_nobias", "optional_none")
class LinearNobiasOptionalNone(Function):
    @staticmethod
    def forward(ctx, x, w, b=None):
        ctx.save_for_backward(x, w, b)
        return x.mm(w.t()) if b is None else torch.addmm(b, x, w.t())

    @staticmethod
    def backward(ctx, g):
        x, w, b = ctx.saved_tensors
        gb = g.sum(0) if b is not None and ctx.needs_input_grad[2] else None
        return g.mm(w), g.t().mm(x), gb


@wrong(
    "corpus/matmul",
    "stops_when_first_is_frozen",
    "returns None for both as soon as the first operand needs no gradient",
)
class MatmulStopsWhenFirstIsFrozen(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a @ b

    @staticmethod
    def backward(ctx, g):
        if not ctx.needs_input_grad[0]:
            return None, None
        a, b = ctx.saved_tensors
        return g @ b.t(), a.t() @ g
