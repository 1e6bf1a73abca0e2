"""Lesson 01: a layer's worth of Function, with several inputs, one of them optional."""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Args, Contract, Exercise, Reference
from grader.inputs import Draw, Inputs, Sample

__all__ = ["linear"]


def _forward(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight, bias)


def _vjp(g: Tensor, x: Tensor, weight: Tensor, *bias: Tensor | None) -> Args:
    """One gradient per argument given: (x, weight), (x, weight, None), (x, weight, bias) are all calls."""
    flat_g, flat_x = g.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
    grad_bias = tuple(None if b is None else flat_g.sum(0) for b in bias)
    return (g @ weight, flat_g.transpose(0, 1) @ flat_x, *grad_bias)


def _args(draw: Draw, *leading: int, sizes: tuple[int, int] | None = None, bias: bool = True) -> Args:
    """x of shape (*leading, inputs), a weight (outputs, inputs) and its bias, of different sizes."""
    outputs, inputs = sizes or draw.sizes(2)
    x, weight = draw.normal(*leading, inputs), draw.normal(outputs, inputs)
    return (x, weight, draw.normal(outputs)) if bias else (x, weight)


def _generic(draw: Draw) -> Args:
    rows, outputs, inputs = draw.sizes(3)
    return _args(draw, rows, sizes=(outputs, inputs))


def _variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("a batch without bias", _args(draw, 3, bias=False))
    yield Sample("a batch and bias=None", (*_args(draw, 3, bias=False), None))
    yield Sample("x with three dimensions", _args(draw, 2, 3, sizes=(5, 4)))
    yield Sample("x with three dimensions, without bias", _args(draw, 3, 2, sizes=(4, 5), bias=False))
    yield Sample("x with four dimensions", _args(draw, 2, 1, 3, sizes=(4, 5)))
    yield Sample("a single vector x", _args(draw, sizes=(3, 5)))
    yield Sample("a single vector x and bias=None", (*_args(draw, sizes=(4, 3), bias=False), None))
    # In addition to the unequal sizes: here a transpose chosen by looking at the shapes gives itself away.
    x, weight, bias = _args(draw, 3)
    yield Sample("a bias of zeros", (x, weight, torch.zeros_like(bias)))
    yield Sample("a weight of zeros", (x, torch.zeros_like(weight), bias))
    yield Sample("a square weight", _args(draw, 4, sizes=(3, 3)))


def _edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("a batch of one row", _args(draw, 1, sizes=(2, 4)))
    yield Sample("one output", _args(draw, 3, sizes=(1, 4)))
    yield Sample("one input", _args(draw, 3, sizes=(4, 1)))
    yield Sample("an empty batch", _args(draw, 0, sizes=(2, 3)))


linear = Exercise(
    id="linear",
    lesson="01_contract",
    title="A linear layer",
    symbol="LinearFunction",
    kind="function",
    points=6,
    reference=Reference(forward=_forward, vjp=_vjp),
    inputs=Inputs(
        generic=_generic,
        small=lambda draw: _args(draw, 2, sizes=(2, 3)),
        large=lambda draw: _args(draw, 67, sizes=(35, 41)),
        variants=_variants,
        edges=_edges,
    ),
    contract=Contract(returned_shapes=True),
    not_derived=("in_place_upstream",),  # no gradient has the upstream's shape
    hints=(
        "Write the shapes of g, x, weight and bias in a row for a batch of vectors, as you did for "
        "vjp_matmul. Here the second factor is the transpose of the weight.",
        "For more (or fewer) leading dimensions: x.reshape(-1, x.shape[-1]) makes a matrix of rows of x, "
        "and the same works for g. weight and bias collect contributions from all rows.",
        "Return three values always. The first is a product of g and weight, the second a product of the "
        "flattened g and x with one transpose, the third is g summed over its rows where there was a bias, "
        "and None where not.",
    ),
)


@linear.misconception(
    "missing_transposes",
    "A transpose is missing or stands at the wrong factor. Write the shapes under each product: the "
    "gradient of the weight must have the weight's shape.",
)
class LinearMissingTransposes(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight.T, x_rows.T @ rows, rows.sum(0) if ctx.has_bias else None


@linear.misconception(
    "weight_gradient_transposed",
    "The gradient of the weight lies on its side. y uses the transpose of the weight, and a gradient has "
    "the shape of the tensor it belongs to.",
)
class LinearWeightGradientTransposed(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, x_rows.T @ rows, rows.sum(0) if ctx.has_bias else None


@linear.misconception(
    "transpose_until_it_fits",
    "You transpose until the shape fits. For a square weight both ways fit and yours is the wrong one: "
    "derive the product from the sum instead.",
)
class LinearTransposeUntilItFits(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        grad_weight = x_rows.T @ rows
        if grad_weight.shape != weight.shape:
            grad_weight = grad_weight.T
        return grad_output @ weight, grad_weight, rows.sum(0) if ctx.has_bias else None


@linear.misconception(
    "bias_unsummed",
    "A gradient of yours is larger than the tensor it belongs to. Every row, over all leading dimensions, "
    "used the same bias, so its gradient collects from all of them and has the bias's shape. (The engine "
    "repairs this silently; this exercise asks you to do it.)",
)
class LinearBiasUnsummed(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, grad_output if ctx.has_bias else None


@linear.misconception(
    "bias_averaged",
    "You average over the rows. Each row adds its full share to the gradient of the bias; an average "
    "belongs into the loss, if anywhere.",
)
class LinearBiasAveraged(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, rows.mean(0) if ctx.has_bias else None


@linear.misconception(
    "bias_without_gradient",
    "The bias never gets a gradient, so it would never train.",
)
class LinearBiasWithoutGradient(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, None


@linear.misconception(
    "bias_none_changes_count",
    "Without a bias you return two gradients. apply(x, weight, None) still has three inputs: the count "
    "follows the inputs given, whatever their values.",
)
class LinearBiasNoneChangesCount(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        grads = (grad_output @ weight, rows.T @ x_rows)
        return (*grads, rows.sum(0)) if ctx.has_bias else grads


@linear.misconception(
    "gradient_for_no_bias",
    "You return a gradient for the bias also when there was none. An input that is no tensor gets no "
    "gradient.",
)
class LinearGradientForNoBias(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, rows.sum(0)


@linear.misconception(
    "bias_required",
    "Your forward cannot do without a bias. It is optional: say so in the signature, and add it only where "
    "there is one.",
)
class LinearBiasRequired(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return x @ weight.T + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, rows.sum(0)


@linear.misconception(
    "matrices_only",
    "Your code works for a matrix x only. A single vector and a batch of sequences are legal too: turn the "
    "leading dimensions into one and back.",
)
class LinearMatricesOnly(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x.mm(weight.t())
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        grad_bias = grad_output.sum(0) if ctx.has_bias else None
        return grad_output.mm(weight), grad_output.t().mm(x), grad_bias


@linear.misconception(
    "saved_in_two_calls",
    "The second call of save_for_backward replaces the first. Hand over all tensors in one call.",
)
class LinearSavedInTwoCalls(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x)
        ctx.save_for_backward(weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        return grad_output @ weight, rows.T @ x_rows, rows.sum(0) if ctx.has_bias else None


@linear.misconception(
    "kept_on_ctx",
    "You keep tensors as attributes of ctx. autograd does not watch them there: an optimizer step on the "
    "weight before backward would change the gradient without a word. Tensors travel through "
    "save_for_backward.",
)
class LinearTensorsOnCtx(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.x, ctx.weight, ctx.bias = x, weight, bias
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        rows, x_rows = grad_output.reshape(-1, ctx.weight.shape[0]), ctx.x.reshape(-1, ctx.weight.shape[1])
        return grad_output @ ctx.weight, rows.T @ x_rows, None if ctx.bias is None else rows.sum(0)


@linear.misconception(
    "grad_filled_by_hand",
    "Your backward writes into weight.grad and returns the gradient as well, so it counts twice. "
    "Accumulating is autograd's task: only return.",
)
class LinearGradFilledByHand(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, weight.shape[0]), x.reshape(-1, weight.shape[1])
        grad_weight = rows.T @ x_rows
        if weight.is_leaf and weight.requires_grad:
            weight.grad = grad_weight.clone() if weight.grad is None else weight.grad + grad_weight
        return grad_output @ weight, grad_weight, rows.sum(0) if ctx.has_bias else None


@linear.variant(
    "flattened",
    "All leading dimensions become rows once, then each gradient is one plain matrix product.",
)
class LinearFlattened(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x @ weight.t()
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        rows, x_rows = grad_output.reshape(-1, grad_output.shape[-1]), x.reshape(-1, x.shape[-1])
        return grad_output @ weight, rows.t() @ x_rows, rows.sum(0) if ctx.has_bias else None


@linear.variant(
    "needs_input_grad",
    "Computes only what was asked for: in a first layer, whose x needs no gradient, that saves one of the two "
    "big products.",
)
class LinearNeedsInputGrad(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        return F.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        wanted = (*ctx.needs_input_grad, False)
        grad_x = grad_weight = grad_bias = None
        if wanted[0]:
            grad_x = torch.matmul(grad_output, weight)
        if wanted[1]:
            grad_weight = torch.einsum("...o,...i->oi", grad_output, x)
        if wanted[2]:
            grad_bias = torch.einsum("...o->o", grad_output)
        return grad_x, grad_weight, grad_bias


@linear.variant("saves_the_bias")
class LinearSavesTheBias(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        return torch.nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias = ctx.saved_tensors
        rows = grad_output.flatten(0, -2) if grad_output.dim() > 1 else grad_output[None]
        x_rows = x.flatten(0, -2) if x.dim() > 1 else x[None]
        grad_bias = None if bias is None else rows.sum(dim=0)
        return grad_output.matmul(weight), rows.mT.matmul(x_rows), grad_bias


@linear.variant("sum_to_size")
class LinearSumToSize(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight)
        ctx.bias_shape = None if bias is None else bias.shape
        y = torch.einsum("...i,oi->...o", x, weight)
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, grad_output):
        x, weight = ctx.saved_tensors
        pairs = grad_output.unsqueeze(-1) * x.unsqueeze(-2)
        grad_bias = None if ctx.bias_shape is None else grad_output.sum_to_size(ctx.bias_shape)
        return grad_output @ weight, pairs.sum_to_size(weight.shape), grad_bias
