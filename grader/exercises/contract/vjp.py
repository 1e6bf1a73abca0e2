"""Lesson 01: vector-Jacobian products as plain functions, before any autograd.Function is written."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from grader.exercise import Exercise, Reference
from grader.inputs import Draw, Inputs, Sample

__all__ = ["vjp_matmul", "vjp_softmax", "vjp_square"]


def _square_args(draw: Draw, *shape: int) -> tuple[Tensor, Tensor]:
    return draw.normal(*shape, scale=2.0), draw.normal(*shape, scale=1.5)


def _square_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("a vector", _square_args(draw, 5))
    yield Sample("a tensor of three dimensions", _square_args(draw, *draw.shape(3)))
    g, x = _square_args(draw, 6)
    yield Sample("a tiny upstream gradient", (1e-9 * g, x))
    yield Sample("a tiny upstream gradient in float32", (1e-6 * g.float(), x.float()))


def _square_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("a 0-d tensor", _square_args(draw))
    yield Sample("a tensor of one element", _square_args(draw, 1, 1))
    yield Sample("an empty tensor", _square_args(draw, 0, 3))


vjp_square = Exercise(
    id="vjp_square",
    lesson="01_contract",
    title="The vector-Jacobian product of a square",
    symbol="vjp_square",
    kind="plain",
    points=2,
    reference=Reference(forward=lambda g, x: 2 * x * g),
    inputs=Inputs(
        generic=lambda draw: _square_args(draw, *draw.shape(2)),
        large=lambda draw: _square_args(draw, 43, 37),
        variants=_square_variants,
        edges=_square_edges,
    ),
    stages={"value": 1.0},
    hints=(
        "How many elements of y = x² depend on one element of x? Write the chain rule for that single element.",
        "The Jacobian is diagonal: multiplying a row vector by it scales each entry by one number.",
        "Entry i of the answer is g_i times the derivative of x_i² at x_i. No loop, no sum and no matrix is needed.",
    ),
)


@vjp_square.misconception(
    "no_upstream",
    "That is the derivative of x² itself. What came from above, g, plays no part in your answer: the chain "
    "rule multiplies the two.",
)
def square_no_upstream(g, x):
    return 2 * x


@vjp_square.misconception(
    "summed_upstream",
    "You add up g first. Each output element has its own sensitivity, and only the one at the same place reaches x_i.",
)
def square_summed_upstream(g, x):
    return g.sum() * 2 * x


@vjp_square.misconception(
    "full_jacobian",
    "That is the whole Jacobian. A vector-Jacobian product has the shape of x: the row vector g has still "
    "to be multiplied in.",
)
def square_full_jacobian(g, x):
    return torch.diag(2 * x.reshape(-1))


@vjp_square.misconception(
    "value_for_slope",
    "You multiply g by the value of the square, not by its slope. What does x² gain when x grows by a little?",
)
def square_value_for_slope(g, x):
    return x * x * g


@vjp_square.misconception(
    "factor_forgotten",
    "The shape of the answer is right and its size is not: differentiate x² once more on paper, factors included.",
)
def square_factor_forgotten(g, x):
    return x * g


@vjp_square.misconception(
    "writes_into_upstream",
    "The numbers are right, but you wrote them into g, which belongs to the caller. Return a new tensor.",
)
def square_writes_into_upstream(g, x):
    return g.mul_(2 * x)


@vjp_square.misconception(
    "collapsed",
    "You return one number. There is one sensitivity for each element of x, so the answer has the shape of x.",
)
def square_collapsed(g, x):
    return (2 * x * g).sum()


@vjp_square.variant("plain", "The chain rule as it stands on paper: g times the slope, element by element.")
def square_plain(g, x):
    return 2 * x * g


@vjp_square.variant("sum_of_two")
def square_sum_of_two(g, x):
    half = g * x
    return half + half


@vjp_square.variant(
    "row_times_jacobian",
    "The definition, word for word. Good for a test, never for use: for n elements it builds n × n numbers, all "
    "but n of them zero.",
)
def square_row_times_jacobian(g, x):
    jacobian = torch.diag(2 * x.reshape(-1))
    return (g.reshape(-1) @ jacobian).reshape(x.shape)


@vjp_square.variant("power_rule")
def square_power_rule(g, x):
    return torch.mul(g, 2 * x.pow(1))


def _matmul_args(draw: Draw, rows: int, inner: int, columns: int) -> tuple[Tensor, Tensor, Tensor]:
    return draw.normal(rows, columns, scale=2.0), draw.normal(rows, inner), draw.normal(inner, columns)


def _matmul_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("other sizes", _matmul_args(draw, *draw.sizes(3)))
    yield Sample("a column times a row", _matmul_args(draw, 3, 1, 4))
    yield Sample("a row times a matrix", _matmul_args(draw, 1, 4, 3))
    # In addition to the unequal sizes: here a transpose chosen by looking at the shapes gives itself away.
    yield Sample("square matrices", _matmul_args(draw, 3, 3, 3))


def _matmul_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("matrices of one element", _matmul_args(draw, 1, 1, 1))
    yield Sample("no rows", _matmul_args(draw, 0, 3, 2))


vjp_matmul = Exercise(
    id="vjp_matmul",
    lesson="01_contract",
    title="The vector-Jacobian product of a matrix product",
    symbol="vjp_matmul",
    kind="plain",
    points=3,
    reference=Reference(forward=lambda g, A, B: (g @ B.transpose(0, 1), A.transpose(0, 1) @ g)),
    inputs=Inputs(
        generic=lambda draw: _matmul_args(draw, *draw.sizes(3)),
        large=lambda draw: _matmul_args(draw, 67, 35, 41),
        variants=_matmul_variants,
        edges=_matmul_edges,
    ),
    stages={"value": 1.0},
    hints=(
        "Write down the shapes of g, A, B and of the two answers before you write any code.",
        "Only one order of g and B, with one of them transposed, gives the shape of A. The same goes for B.",
        "Y_ij uses row i of A, so the gradient of A_ik collects g_ij B_kj over j. Read that sum as a matrix "
        "product, and do the same for B_kj.",
    ),
)


@vjp_matmul.misconception(
    "swapped",
    "Both products are right but in the wrong order: the first answer belongs to the first argument, A.",
)
def matmul_swapped(g, A, B):
    return A.T @ g, g @ B.T


@vjp_matmul.misconception(
    "missing_transposes",
    "Your shapes do not fit together. Going backwards, a matrix acts as its transpose: write the shapes "
    "under each factor.",
)
def matmul_missing_transposes(g, A, B):
    return g @ B, A @ g


@vjp_matmul.misconception(
    "transposed_results",
    "Each of your gradients lies on its side. A gradient has the shape of the tensor it belongs to.",
)
def matmul_transposed_results(g, A, B):
    return B @ g.T, g.T @ A


@vjp_matmul.misconception(
    "transpose_until_it_fits",
    "You transpose until the shapes fit. For square matrices both ways fit and yours is the wrong one: "
    "derive the product from the sum instead.",
)
def matmul_transpose_until_it_fits(g, A, B):
    grad_A, grad_B = g @ B.T, g.T @ A
    if grad_B.shape != B.shape:
        grad_B = grad_B.T
    return grad_A, grad_B


@vjp_matmul.misconception(
    "no_upstream",
    "You propagate a matrix of ones, as if the loss were the plain sum of Y. The weights that the loss "
    "gives to Y are in g.",
)
def matmul_no_upstream(g, A, B):
    ones = torch.ones_like(g)
    return ones @ B.T, A.T @ ones


@vjp_matmul.misconception(
    "partners",
    "You return the partner of each factor, as for a product of two numbers, and g is missing. Here many "
    "entries of Y share one entry of A: sum over them, each with its weight from g.",
)
def matmul_partners(g, A, B):
    return B.T, A.T


@vjp_matmul.misconception(
    "only_first",
    "You return one gradient, and the product has two arguments.",
)
def matmul_only_first(g, A, B):
    return g @ B.T


@vjp_matmul.variant(
    "einsum",
    "The sums over indices written down directly: nothing to remember about transposes, and it extends to "
    "batches.",
)
def matmul_einsum(g, A, B):
    return torch.einsum("ij,kj->ik", g, B), torch.einsum("ik,ij->kj", A, g)


@vjp_matmul.variant("transposed_twice")
def matmul_transposed_twice(g, A, B):
    return (B @ g.T).T, (g.T @ A).T


@vjp_matmul.variant(
    "mm",
    "The two products as derived; no shape is ever looked at, so square matrices are as safe as others.",
)
def matmul_mm(g, A, B):
    grad_A = g.mm(B.t())
    grad_B = A.t().mm(g)
    return grad_A, grad_B


def _softmax_args(draw: Draw, *shape: int) -> tuple[Tensor, Tensor]:
    return draw.normal(*shape, scale=2.0), torch.softmax(draw.normal(*shape, scale=1.5), -1)


def _softmax_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("one distribution (a vector)", _softmax_args(draw, 5))
    yield Sample("three dimensions", _softmax_args(draw, *draw.shape(3)))
    yield Sample("as many rows as columns", _softmax_args(draw, 4, 4))
    g, y = _softmax_args(draw, 3, 4)
    yield Sample("a tiny upstream gradient", (1e-9 * g, y))
    yield Sample("an upstream gradient that is nearly constant", (1.0 + 1e-6 * g, y))
    yield Sample("very small probabilities", (draw.normal(2, 3), torch.softmax(draw.normal(2, 3, scale=30.0), -1)))


def _softmax_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("one class", _softmax_args(draw, 3, 1))
    yield Sample("an empty batch", _softmax_args(draw, 0, 3))


def _softmax_vjp(g: Tensor, y: Tensor) -> Tensor:
    return y * (g - (g * y).sum(-1, keepdim=True))


vjp_softmax = Exercise(
    id="vjp_softmax",
    lesson="01_contract",
    title="The vector-Jacobian product of a softmax",
    symbol="vjp_softmax",
    kind="plain",
    points=3,
    reference=Reference(forward=_softmax_vjp),
    inputs=Inputs(
        generic=lambda draw: _softmax_args(draw, *draw.shape(2)),
        large=lambda draw: _softmax_args(draw, 70, 41),
        variants=_softmax_variants,
        edges=_softmax_edges,
    ),
    stages={"value": 1.0},
    hints=(
        "Raising one logit lowers all the other probabilities: the Jacobian has entries off the diagonal.",
        "Put the given Jacobian into the sum over i of g_i J_ij and pull y_j out of both terms.",
        "What is left in the bracket is g_j minus one number for each row: the average of g under the "
        "probabilities y. Keep the summed dimension so that it broadcasts.",
    ),
)


@vjp_softmax.misconception(
    "diagonal_only",
    "You use the diagonal of the Jacobian only, as for a sigmoid. Every probability depends on every logit, "
    "so the entries off the diagonal count.",
)
def softmax_diagonal_only(g, y):
    return y * (1 - y) * g


@vjp_softmax.misconception(
    "zeros",
    "Zero is right only where all entries of g are equal, which is what y.sum().backward() sends. A real "
    "loss weights the classes differently.",
)
def softmax_zeros(g, y):
    return torch.zeros_like(y)


@vjp_softmax.misconception(
    "no_normaliser",
    "You treat the denominator of the softmax as a constant. It depends on every logit too, and that is the "
    "second term of the Jacobian.",
)
def softmax_no_normaliser(g, y):
    return y * g


@vjp_softmax.misconception(
    "plain_sum",
    "You subtract the sum of g. The number to subtract weights each g_i by its probability: look again at "
    "what the second term of the Jacobian multiplies.",
)
def softmax_plain_sum(g, y):
    return y * (g - g.sum(-1, keepdim=True))


@vjp_softmax.misconception(
    "plain_mean",
    "You subtract the plain average of g. In the second term of the Jacobian each g_i comes with its own probability.",
)
def softmax_plain_mean(g, y):
    return y * (g - g.mean(-1, keepdim=True))


@vjp_softmax.misconception(
    "whole_batch",
    "You sum over the whole tensor. Each row is a softmax of its own and must not feel the other rows.",
)
def softmax_whole_batch(g, y):
    return y * (g - (g * y).sum())


@vjp_softmax.misconception(
    "first_dim",
    "You sum over the first dimension. The softmax, and so its Jacobian, lives in the last one.",
)
def softmax_first_dim(g, y):
    return y * (g - (g * y).sum(0, keepdim=True))


@vjp_softmax.misconception(
    "dimension_lost",
    "The sum removes the last dimension, so its result does not line up with the rows any more (for a "
    "square batch it lines up with the wrong ones, without an error).",
)
def softmax_dimension_lost(g, y):
    return y * (g - (g * y).sum(-1))


@vjp_softmax.misconception(
    "softmax_twice",
    "y is already the output of the softmax. You apply the softmax to it once more.",
)
def softmax_twice(g, y):
    p = torch.softmax(y, -1)
    return p * (g - (g * p).sum(-1, keepdim=True))


@vjp_softmax.variant("two_terms", "One pass over the row and no matrix: as much memory as y takes.")
def softmax_two_terms(g, y):
    weighted = g * y
    return weighted - y * weighted.sum(dim=-1, keepdim=True)


@vjp_softmax.variant(
    "explicit_jacobian",
    "The Jacobian in full, to check the short form against; it takes a matrix of classes × classes for each row.",
)
def softmax_explicit_jacobian(g, y):
    jacobian = torch.diag_embed(y) - y.unsqueeze(-1) * y.unsqueeze(-2)
    return (g.unsqueeze(-2) @ jacobian).squeeze(-2)


@vjp_softmax.variant("einsum")
def softmax_einsum(g, y):
    expected = torch.einsum("...i,...i->...", g, y)
    return y * (g - expected[..., None])
