"""Lesson 04: three broken Functions to repair. Each has a fault of another kind; only one is visible to
gradcheck."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Contract, Exercise, Reference
from grader.inputs import Draw, Inputs, Sample, elementwise

__all__ = ["fix_mul", "fix_norm", "fix_tanh"]

# ---- fix_tanh --------------------------------------------------------------------------------------------------------

fix_tanh = Exercise(
    id="fix_tanh",
    lesson="04_gradcheck",
    title="Repair a tanh",
    symbol="FixedTanh",
    kind="function",
    points=2,
    reference=Reference(forward=torch.tanh, vjp=lambda g, x: (g * (1 - torch.tanh(x) ** 2),)),
    inputs=elementwise(extreme=(-1e3, -20.0, 0.0, 20.0, 1e3)),
    stages={"gradient": 0.7, "contract": 0.3},
    hints=(
        "Look at the two Jacobians of BrokenTanh above. Which of the six names fits?",
        "What backward returns must be the upstream gradient times the local derivative, element by element.",
        "The saved tensor is the output y, and the derivative of tanh in terms of y is 1 - y². What is "
        "missing beside it?",
    ),
)


@fix_tanh.misconception(
    "product_binds_first",
    "You multiply only y² by the upstream gradient: the product binds more tightly than the difference. "
    "The whole local derivative is to be multiplied.",
)
class ProductBindsFirst(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return 1 - y * y * g


@fix_tanh.misconception(
    "squares_the_input",
    "Your local derivative squares the input. The formula 1 - y² speaks of the output y = tanh(x).",
)
class SquaresTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - x * x)


@fix_tanh.misconception(
    "square_lost",
    "The upstream gradient is there now, but the derivative of tanh is one minus the square of y.",
)
class SquareLost(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y)


@fix_tanh.misconception(
    "adds_the_upstream",
    "You add the upstream gradient to the local derivative. The chain rule multiplies them.",
)
class AddsTheUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g + (1 - y * y)


@fix_tanh.variant("from_the_input")
class FromTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 - x.tanh().square())


@fix_tanh.variant("g_minus_g_y_squared")
class GMinusGYSquared(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g - g * y * y


@fix_tanh.variant("once_differentiable_factors")
class OnceDifferentiableFactors(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return (1 - y) * (1 + y) * g


# ---- fix_mul ---------------------------------------------------------------------------------------------------------


def _two(draw: Draw, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    return draw.normal(*a, off=(0.0,)), draw.normal(*b, off=(0.0,))


def _mul_variants(draw: Draw) -> Iterable[Sample]:
    m, n, k = draw.sizes(3)
    yield Sample("b without the leading dimension of a", _two(draw, (m, n), (n,)))
    yield Sample("a without the leading dimension of b", _two(draw, (n,), (m, n)))
    yield Sample("both stretched: a column times a row", _two(draw, (m, 1), (1, n)))
    yield Sample("a leading and a stretched dimension at once", _two(draw, (k, m, n), (m, 1)))
    yield Sample("equal shapes", _two(draw, (m, n), (m, n)))


def _mul_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("b a 0-d tensor", _two(draw, (2, 3), ()))
    yield Sample("two 0-d tensors", _two(draw, (), ()))
    yield Sample("b of shape (1, 1, 3), with more dimensions than a", _two(draw, (4, 3), (1, 1, 3)))
    yield Sample("an empty a", _two(draw, (0, 3), (3,)))


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
    stages={"gradient": 0.5, "contract": 0.5},
    hints=(
        "Print the shapes that y.grad_fn(g) gives for BrokenMul, next to the shapes of a and b.",
        "Broadcasting copied b along some dimensions. Each copy got a gradient, and the gradient of the "
        "original is their sum: over the added leading dimensions, and over those of size 1 that were "
        "stretched.",
        "The worked BroadcastAdd does just this reduction with sum_to_size. Here it comes after the "
        "multiplication, and both factors need it.",
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


@fix_mul.variant("by_hand")
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


@fix_mul.variant("only_what_is_needed")
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


@fix_mul.variant("setup_context")
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


# ---- fix_norm --------------------------------------------------------------------------------------------------------


def _rows(draw: Draw, *shape: int) -> tuple[Tensor]:
    return (draw.normal(*shape, off=(0.0,), gap=0.2),)


def _norm_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("a vector", _rows(draw, 5))
    yield Sample("a tensor of three dimensions", _rows(draw, *draw.shape(3)))


def _norm_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("rows of one element", _rows(draw, 3, 1))
    yield Sample("no rows", _rows(draw, 0, 3))


def _norm_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    y = (x * x).sum(-1, keepdim=True).sqrt()
    return (g.unsqueeze(-1) * x / y,)


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
    stages={"forward": 0.1, "gradient": 0.3, "contract": 0.6},
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


@fix_norm.variant("input_and_output")
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


@fix_norm.variant("recomputed")
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
