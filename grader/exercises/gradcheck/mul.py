"""Lesson 04: repair a product whose backward leaves the reduction of broadcast dimensions to the engine."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import Function

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Draw, Inputs, Sample
from grader.subject import Probe

__all__ = ["fix_mul"]


def _two(draw: Draw, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    return draw.normal(*a, off=(0.0,)), draw.normal(*b, off=(0.0,))


def _mul_variants(draw: Draw) -> Iterable[Sample]:
    m, n, k = draw.sizes(3)
    yield Sample("b without the leading dimension of a", _two(draw, (m, n), (n,)))
    yield Sample("a without the leading dimension of b", _two(draw, (n,), (m, n)))
    yield Sample("both stretched: a column times a row", _two(draw, (m, 1), (1, n)))
    yield Sample("a leading and a stretched dimension at once", _two(draw, (k, m, n), (m, 1)))
    yield Sample("two stretched dimensions", _two(draw, (1, m, 1), (k, m, n)))
    yield Sample("equal shapes", _two(draw, (m, n), (m, n)))


def _mul_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("b a 0-d tensor", _two(draw, (2, 3), ()))
    yield Sample("two 0-d tensors", _two(draw, (), ()))
    yield Sample("b of shape (1, 1, 3), with more dimensions than a", _two(draw, (4, 3), (1, 1, 3)))
    yield Sample("an empty a", _two(draw, (0, 3), (3,)))


def _returns_shapes(bench: Bench, what: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    args = _two(bench.draw(), a, b)
    (returned,) = bench.observe(Probe(args, upstream=(bench.upstream(args),))).returned
    shapes = [shape for _, shape, _ in returned.items]
    if shapes != [a, b]:
        raise Failed(
            f"For shapes {a} and {b} backward itself returned {' and '.join(map(str, shapes))}: {what}.",
            cause="the engine reduces such gradients silently, so .grad looks right.",
            look="which dimensions did broadcasting add, which did it stretch, and for which factor?",
        )


@check("reduces_added", stage="contract")
def reduces_added(bench: Bench) -> None:
    """Catches a gradient that keeps the leading dimensions broadcasting added to b. Sees the second factor
    only."""
    _returns_shapes(bench, "a dimension that was added is still there", (4, 3), (3,))


@check("reduces_stretched", stage="contract")
def reduces_stretched(bench: Bench) -> None:
    """Catches a gradient that keeps a dimension of size 1 stretched. Sees the second factor only."""
    _returns_shapes(bench, "a stretched dimension is not of size 1 again", (4, 3), (4, 1))


@check("reduces_the_first_factor", stage="contract")
def reduces_the_first_factor(bench: Bench) -> None:
    """Catches a gradient of the first factor that is not reduced. Sees the second factor not at all."""
    _returns_shapes(bench, "the first factor was broadcast here", (3,), (4, 3))


fix_mul = Exercise(
    id="fix_mul",
    lesson="04_gradcheck",
    title="Repair a product of broadcast factors",
    symbol="FixedMul",
    kind="function",
    points=3,
    reference=Reference(
        forward=torch.mul, vjp=lambda g, a, b: ((g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape))
    ),
    inputs=Inputs(
        generic=lambda draw: _two(draw, (shape := draw.sizes(3))[:2], shape[1:2]),
        small=lambda draw: _two(draw, (2, 3), (3,)),
        variants=_mul_variants,
        edges=_mul_edges,
    ),
    contract=Contract(returned_shapes=True),
    checks=(reduces_added, reduces_stretched, reduces_the_first_factor),
    stages={"contract": 1.0},  # the values are right before the repair: they earn nothing
    hints=(
        "Print the shapes that y.grad_fn.apply(g) gives for BrokenMul, next to the shapes of a and b.",
        "Broadcasting copied b along some dimensions. Each copy got a gradient, and the gradient of the "
        "original is their sum: over the added leading dimensions, and over those of size 1 that were "
        "stretched.",
        "The worked BroadcastAdd does just this reduction with sum_to_size. Here multiply first, g with the "
        "other factor, and then sum to the shape of the factor whose gradient it is. Both factors need it.",
    ),
)


@fix_mul.misconception(
    "not_reduced",
    "What backward returns still has the shape of the output. The engine sums it up behind your back, so "
    ".grad is right; this exercise asks that backward itself returns gradients of the inputs' shapes.",
)
class NotReduced(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a


@fix_mul.misconception(
    "leading_only",
    "You sum over the leading dimensions that broadcasting added. It also stretches dimensions of size 1, "
    "and those must be summed too, and kept.",
)
class LeadingOnly(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga, gb = g * b, g * a
        while ga.dim() > a.dim():
            ga = ga.sum(0)
        while gb.dim() > b.dim():
            gb = gb.sum(0)
        return ga, gb


@fix_mul.misconception(
    "second_factor_only",
    "You reduce the gradient of b. The other factor can be the smaller one just as well.",
)
class SecondFactorOnly(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, (g * a).sum_to_size(b.shape)


@fix_mul.misconception(
    "mean_for_sum",
    "You average over the broadcast dimensions. Every copy of b contributes its full share to the loss: "
    "add them up.",
)
class MeanForSum(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga, gb = (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)
        return ga * (a.numel() / max(g.numel(), 1)), gb * (b.numel() / max(g.numel(), 1))


@fix_mul.misconception(
    "everything_summed",
    "A smaller factor gets the total of everything. Sum only over the dimensions that were broadcast; the "
    "others stay apart.",
)
class EverythingSummed(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g * b if a.shape == g.shape else (g * b).sum().expand(a.shape)
        gb = g * a if b.shape == g.shape else (g * a).sum().expand(b.shape)
        return ga, gb


@fix_mul.misconception(
    "a_slice_for_the_sum",
    "You cut the gradient down to the right shape. That keeps the gradient of one copy and throws the "
    "others away.",
)
class ASliceForTheSum(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        grads = []
        for full, x in ((g * b, a), (g * a, b)):
            while full.dim() > x.dim():
                full = full[0]
            for d, n in enumerate(x.shape):
                full = full.narrow(d, 0, n)
            grads.append(full)
        return tuple(grads)


@fix_mul.misconception(
    "reduced_before_the_product",
    "You sum the upstream gradient first and multiply after. The other factor differs from copy to copy, "
    "so it has to be multiplied in before the sum.",
)
class ReducedBeforeTheProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        ga = g.sum_to_size(a.shape) * b
        gb = g.sum_to_size(b.shape) * a
        return ga.sum_to_size(a.shape), gb.sum_to_size(b.shape)


@fix_mul.variant("by_hand", "The same reduction spelled out: what `sum_to_size` does, to have seen it once.")
class ByHand(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        def back_to(grad, shape):
            while grad.dim() > len(shape):
                grad = grad.sum(0)
            for d, n in enumerate(shape):
                if n == 1:
                    grad = grad.sum(d, keepdim=True)
            return grad

        a, b = ctx.saved_tensors
        return back_to(g * b, a.shape), back_to(g * a, b.shape)


@fix_mul.variant(
    "only_what_is_needed",
    "Each factor is needed only for the gradient of the other one: a factor that needs none spares a product, "
    "and the tensor kept for it.",
)
class OnlyWhatIsNeeded(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a if b.requires_grad else None, b if a.requires_grad else None)
        ctx.shapes = a.shape, b.shape
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        first, second = ctx.needs_input_grad
        ga = (g * b).sum_to_size(ctx.shapes[0]) if first else None
        gb = (g * a).sum_to_size(ctx.shapes[1]) if second else None
        return ga, gb


@fix_mul.variant(
    "setup_context",
    "`sum_to_size` adds up the copies that broadcasting made, and returns the gradient as it is where it made "
    "none.",
)
class MulSetupContext(Function):
    @staticmethod
    def forward(a, b):
        return a * b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)
