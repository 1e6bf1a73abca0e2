"""Cases: operations whose operands broadcast."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right(
    "corpus/bmul",
    "engine_reduces",
    "returns un-reduced gradients: PyTorch sums expanded gradients to the input shape itself",
)
class BmulEngineReduces(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.mul(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return b * g, a * g


@right(
    "corpus/bmul",
    "explicit_expand",
    "broadcast_tensors inside forward, sum_to_size in backward; needs_input_grad",
)
class BmulExplicitExpand(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        x, y = torch.broadcast_tensors(a, b)
        return x * y

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = (g * b).sum_to_size(a.shape) if ctx.needs_input_grad[0] else None
        gb = (g * a).sum_to_size(b.shape) if ctx.needs_input_grad[1] else None
        return ga, gb


@wrong("corpus/bmul", "swapped_operands", "a*g for a and b*g for b")
class BmulSwappedOperands(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * a, g * b


@wrong("corpus/bmul", "mean_to_shape", "reduces broadcast dims with mean")
class BmulMeanToShape(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors

        def red(t, shape):
            while t.dim() > len(shape):
                t = t.mean(0)
            for i, s in enumerate(shape):
                if s == 1 and t.shape[i] != 1:
                    t = t.mean(i, keepdim=True)
            return t

        return red(g * b, a.shape), red(g * a, b.shape)


@wrong("corpus/bmul", "scalar_sum", "any smaller operand gets the total sum")
class BmulScalarSum(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga, gb = g * b, g * a
        if a.numel() < g.numel():
            ga = ga.sum().expand(a.shape)
        if b.numel() < g.numel():
            gb = gb.sum().expand(b.shape)
        return ga, gb


@wrong("corpus/bmul", "takes_first_slice", "cuts g down to the operand shape by slicing instead of summing")
class BmulTakesFirstSlice(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors

        def cut(t, shape):
            while t.dim() > len(shape):
                t = t[0]
            for i, s in enumerate(shape):
                t = t.narrow(i, 0, s)
            return t

        return cut(g * b, a.shape), cut(g * a, b.shape)


@wrong(
    "corpus/bmul",
    "g_as_buffer",
    "second gradient computed into grad_output (g.mul_): right values, mutates g; error after .sum()",
)
class BmulGAsBuffer(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = (g * b).sum_to_size(a.shape)
        gb = g.mul_(a.detach()).sum_to_size(b.shape)
        return ga, gb


@wrong(
    "corpus/bmul",
    "inplace_chain",
    "g.mul_(b) then g.mul_(a): both results are the same tensor and the second is a*b*g",
)
class BmulInplaceChain(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g.mul_(b)
        gb = g.mul_(a)
        return ga, gb


@wrong("corpus/bmul", "setup_context_swapped", "setup_context unpacks inputs in the wrong order")
class BmulSetupContextSwapped(Function):
    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        b, a = inputs
        ctx.save_for_backward(a, b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(a.shape) if a.shape == b.shape else g * b, g * a


@right("corpus/bsub", "neg")
class BsubNeg(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.sh = (a.shape, b.shape)
        return a - b

    @staticmethod
    def backward(ctx, g):
        return g.sum_to_size(ctx.sh[0]), (-g).sum_to_size(ctx.sh[1])


@wrong("corpus/bsub", "neg_inplace_shared", "returns g and g.neg_(): both operands receive -g")
class BsubNegInplaceShared(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a - b

    @staticmethod
    def backward(ctx, g):
        return g, g.neg_()


@right("scale_by", "trailing_none_and_needs", "checks needs_input_grad")
class ScaleTrailingNoneAndNeeds(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = torch.as_tensor(k, dtype=x.dtype)
        return torch.mul(x, k)

    @staticmethod
    def backward(ctx, g):
        gx = None
        if ctx.needs_input_grad[0]:
            gx = ctx.k * g
        return gx, None


@right("scale_by", "kwargs", "keyword argument in apply: TypeError on old torch, accepted by 2.13")
class ScaleKwargs(Function):
    @classmethod
    def apply(cls, x, k):
        return super().apply(x, k=k)

    @staticmethod
    def forward(ctx, x, k=1.0):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong(
    "scale_by",
    "mutates_input",
    "x *= k in forward without mark_dirty: upstream saved tensors and the caller see the scaled value",
)
class ScaleMutatesInput(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x *= k
        return x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.k, None


@wrong("scale_by", "list_of_tensors", "input wrapped in a list is invisible to autograd: no gradient")
class ScaleListOfTensors(Function):
    @classmethod
    def apply(cls, x, k):
        return super().apply([x], k)

    @staticmethod
    def forward(ctx, xs, k):
        ctx.k = k
        return xs[0] * k

    @staticmethod
    def backward(ctx, g):
        return [g * ctx.k], None


@wrong(
    "scale_by",
    "dict_of_arguments",
    "both arguments travel in a dict, where autograd sees no tensor: no gradient, no error",
)
class ScaleDictOfArguments(Function):
    @classmethod
    def apply(cls, x, k):
        return super().apply({"x": x, "k": k})

    @staticmethod
    def forward(ctx, d):
        ctx.k = d["k"]
        return d["x"] * d["k"]

    @staticmethod
    def backward(ctx, g):
        return {"x": g * ctx.k}
