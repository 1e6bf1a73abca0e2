"""Lesson 04: repair a norm that saves an intermediate, so that its second derivative is silently wrong."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Draw, Inputs, Sample
from grader.subject import Probe

__all__ = ["fix_norm"]


def _rows(draw: Draw, *shape: int) -> tuple[Tensor]:
    return (draw.normal(*shape, off=(0.0,), gap=0.2),)


def _norm_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("a vector", _rows(draw, 5))
    yield Sample("a tensor of three dimensions", _rows(draw, *draw.shape(3)))


def _norm_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("rows of one element", _rows(draw, 3, 1))
    yield Sample("very short rows", (1e-9 * draw.normal(2, 3, off=(0.0,), gap=0.2),))
    yield Sample("no rows", _rows(draw, 0, 3))


def _norm_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    y = (x * x).sum(-1, keepdim=True).sqrt()
    return (g.unsqueeze(-1) * x / y,)


@check("second_order_allowed", stage="contract")
def second_order_allowed(bench: Bench) -> None:
    """Catches a Function that refuses second derivatives. Cannot see whether they are right."""
    (x,) = bench.generic(small=True)
    seen = bench.subject.observe(Probe((x,), upstream=(bench.upstream((x,)),), second=(torch.ones_like(x),)))
    if seen.failure is not None and "once_differentiable" in seen.failure.message:
        raise Failed(
            "Your backward is marked @once_differentiable, so there is no second derivative at all.",
            look="the exercise asks for a right second derivative, not for a refusal.",
        )


fix_norm = Exercise(
    id="fix_norm",
    lesson="04_gradcheck",
    title="Repair a norm whose second derivative is silently wrong",
    symbol="FixedNorm",
    kind="function",
    points=3,
    reference=Reference(forward=lambda x: (x * x).sum(-1).sqrt(), vjp=_norm_vjp),
    inputs=Inputs(
        generic=lambda draw: _rows(draw, *draw.shape(2)),
        small=lambda draw: _rows(draw, 2, 3),
        variants=_norm_variants,
        edges=_norm_edges,
    ),
    contract=Contract(second_order="required"),
    checks=(second_order_allowed,),
    not_derived=("in_place_upstream", "detached"),  # cannot be done here; detached_in_backward says it
    stages={"contract": 1.0},  # the values are right before the repair: they earn nothing
    hints=(
        "gradcheck is content with BrokenNorm. Run gradgradcheck, and look at what forward saves.",
        "A tensor computed inside forward has no graph. For the second derivative autograd can follow "
        "only what is tied to the graph: the inputs, and the outputs, of the Function.",
        "Save x and y instead of their quotient, and divide in backward. g and y lack the last dimension "
        "of x.",
    ),
)


@fix_norm.misconception(
    "saves_an_intermediate",
    "You save x / y, which was computed inside forward and is tied to no graph. The second derivative "
    "takes it for a constant and comes out wrong, without a word. Save inputs and outputs only.",
)
class SavesAnIntermediate(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x / y.unsqueeze(-1))
        return y

    @staticmethod
    def backward(ctx, g):
        (unit,) = ctx.saved_tensors
        return g.unsqueeze(-1) * unit


@fix_norm.misconception(
    "detached_in_backward",
    "You detach (or take .data, or use no_grad) in backward. That cuts the second derivative off: "
    "backward must be made of differentiable operations on the saved tensors.",
)
class DetachedInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(-1) * x.detach() / y.detach().unsqueeze(-1)


@fix_norm.misconception(
    "norm_saved_before_the_shape_changed",
    "You save the norm with its last dimension kept, and return another tensor. What you saved is an "
    "intermediate, not the output: its part of the second derivative is lost.",
)
class NormSavedBeforeTheShapeChanged(Function):
    @staticmethod
    def forward(ctx, x):
        length = (x * x).sum(-1, keepdim=True).sqrt()
        ctx.save_for_backward(x, length)
        return length.squeeze(-1).clone()

    @staticmethod
    def backward(ctx, g):
        x, length = ctx.saved_tensors
        return g.unsqueeze(-1) * x / length


@fix_norm.misconception(
    "forbids_the_second_derivative",
    "once_differentiable turns a wrong second derivative into an error. That is honest, but this exercise "
    "asks for the right one.",
)
class ForbidsTheSecondDerivative(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(-1) * x / y.unsqueeze(-1)


@fix_norm.misconception(
    "divides_by_the_square",
    "You divide by the squared norm. Check the length of the gradient of a norm: it is a unit vector.",
)
class DividesByTheSquare(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(-1) * x / y.unsqueeze(-1) ** 2


@fix_norm.misconception(
    "not_divided",
    "That is the gradient of half the squared norm. The square root has a derivative too.",
)
class NotDivided(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * x


@fix_norm.misconception(
    "last_dimension_missing",
    "g and y have one dimension less than x, so their product with x lines up the wrong dimensions (or "
    "none). Give them a last dimension of size 1.",
)
class LastDimensionMissing(Function):
    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * x / y


@fix_norm.variant(
    "input_and_output",
    "Input and output are both tied to the graph, so the second derivative is right, and the norm is not "
    "computed again.",
)
class InputAndOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.linalg.vector_norm(x, dim=-1)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return (g / y)[..., None] * x


@fix_norm.variant(
    "recomputed",
    "Saves the input alone and computes the norm again: less is kept, and a second derivative still finds its "
    "way through.",
)
class Recomputed(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.norm(dim=-1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * x / (x * x).sum(-1, keepdim=True).sqrt()


@fix_norm.variant("setup_context")
class NormSetupContext(Function):
    @staticmethod
    def forward(x):
        return (x * x).sum(-1).sqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return x * (g / y).unsqueeze(-1)
