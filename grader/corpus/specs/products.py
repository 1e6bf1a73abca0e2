"""Products of matrices, and elementwise operations whose operands broadcast."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from grader.corpus.op import operation
from grader.exercise import Args, Contract
from grader.inputs import Draw, Inputs, Sample

__all__ = ["EXERCISES"]

Shape = tuple[int, ...]


def _shaped(
    *variants: tuple[str, Shape, Shape],
    generic: Callable[[Draw], tuple[Shape, Shape]],
    small: tuple[Shape, Shape],
) -> Inputs:
    """Inputs of op(a, b) from the shapes of both."""

    def make(draw: Draw, a: Shape, b: Shape) -> Args:
        return draw.normal(*a), draw.normal(*b)

    return Inputs(
        generic=lambda draw: make(draw, *generic(draw)),
        small=lambda draw: make(draw, *small),
        variants=lambda draw: [Sample(name, make(draw, a, b)) for name, a, b in variants],
    )


def _matrices(draw: Draw) -> tuple[Shape, Shape]:
    rows, inner, columns = draw.sizes(3)
    return (rows, inner), (inner, columns)


def _batches(draw: Draw) -> tuple[Shape, Shape]:
    rows, inner, columns = draw.sizes(3)
    return (2, rows, inner), (2, inner, columns)


def _same(draw: Draw) -> tuple[Shape, Shape]:
    shape = draw.shape(2)
    return shape, shape


matmul = operation(
    "matmul",
    lambda a, b: (a[:, :, None] * b[None]).sum(1),
    lambda g, a, b: (g @ b.T, a.T @ g),
    _shaped(
        ("square matrices", (4, 4), (4, 4)),
        ("a row times a column", (1, 4), (4, 1)),
        generic=_matrices,
        small=((2, 3), (3, 2)),
    ),
)
bmm_any = operation(
    "bmm_any",
    lambda a, b: (a.unsqueeze(-1) * b.unsqueeze(-3)).sum(-2),
    lambda g, a, b: ((g @ b.mT).sum_to_size(a.shape), (a.mT @ g).sum_to_size(b.shape)),
    _shaped(
        ("one matrix for a batch", (2, 3, 4), (4, 5)),
        ("a batch for one matrix", (3, 4), (2, 4, 5)),
        ("two batch dimensions that broadcast", (2, 1, 3, 4), (1, 3, 4, 2)),
        generic=_batches,
        small=((2, 2, 2), (2, 2, 1)),
    ),
)

BROADCAST = _shaped(
    ("b broadcast over rows", (3, 4), (4,)),
    ("a column and a row", (3, 1), (1, 4)),
    ("b of zero dimensions", (2, 3, 4), ()),
    ("a broadcast over batches", (4,), (2, 3, 4)),
    ("a row and a column", (1, 3), (3, 1)),
    ("dimensions of size one in both", (2, 1, 4), (3, 1)),
    generic=_same,
    small=((2, 3), (2, 3)),
)
bmul = operation(
    "bmul",
    lambda a, b: a * b,
    lambda g, a, b: ((g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)),
    BROADCAST,
)
bsub = operation(
    "bsub",
    lambda a, b: a - b,
    lambda g, a, b: (g.sum_to_size(a.shape), -g.sum_to_size(b.shape)),
    BROADCAST,
)


def _swish_beta_vjp(g: Tensor, x: Tensor, beta: Tensor) -> tuple[Tensor, Tensor]:
    s = torch.sigmoid(beta * x)
    slope = s * (1 - s)
    return (g * (s + beta * x * slope)).sum_to_size(x.shape), (g * x * x * slope).sum_to_size(beta.shape)


def _matrix_and_row(draw: Draw) -> tuple[Shape, Shape]:
    rows, columns = draw.sizes(2)
    return (rows, columns), (columns,)


swish_beta = operation(
    "swish_beta",
    lambda x, beta: x / (1 + torch.exp(-beta * x)),
    _swish_beta_vjp,
    _shaped(
        ("one beta for all", (3, 4), ()),
        ("a beta for each row", (3, 4), (3, 1)),
        ("three dimensions", (2, 3, 4), (4,)),
        ("beta larger than x", (4,), (3, 4)),
        generic=_matrix_and_row,
        small=((2, 3), (3,)),
    ),
)

# ---- linear layers -------------------------------------------------------------------------------


def _layer(draw: Draw, *leading: int, sizes: tuple[int, int]) -> Args:
    outputs, inputs = sizes
    return draw.normal(*leading, inputs), draw.normal(outputs, inputs), draw.normal(outputs)


def _layers(draw: Draw) -> Iterable[Sample]:
    yield Sample("a square weight", _layer(draw, 4, sizes=(4, 4)))
    yield Sample("a batch of one row", _layer(draw, 1, sizes=(2, 4)))
    yield Sample("x with three dimensions", _layer(draw, 2, 3, sizes=(5, 4)))
    yield Sample("a single vector x", _layer(draw, sizes=(5, 4)))


def _linear_vjp(g: Tensor, x: Tensor, weight: Tensor, bias: Tensor | None) -> Args:
    rows = g.reshape(-1, weight.shape[0])
    grad_bias = None if bias is None else rows.sum(0)
    return g @ weight, rows.T @ x.reshape(-1, weight.shape[1]), grad_bias


def _generic_layer(draw: Draw) -> Args:
    rows, outputs, inputs = draw.sizes(3)
    return _layer(draw, rows, sizes=(outputs, inputs))


# The course's linear takes no bias too; here the bias always comes, and the engine may finish reductions.
linear = operation(
    "linear",
    lambda x, weight, bias: (x.unsqueeze(-2) * weight).sum(-1) + bias,
    _linear_vjp,
    Inputs(generic=_generic_layer, small=lambda draw: _layer(draw, 2, sizes=(2, 3)), variants=_layers),
)
linear_nobias = operation(
    "linear_nobias",
    lambda x, weight, bias: (x.unsqueeze(-2) * weight).sum(-1),
    _linear_vjp,
    Inputs(
        generic=lambda draw: (*_generic_layer(draw)[:2], None),
        small=lambda draw: (*_layer(draw, 2, sizes=(2, 3))[:2], None),
        variants=lambda draw: [Sample("a square weight", (*_layer(draw, 4, sizes=(4, 4))[:2], None))],
    ),
)

# ---- layer normalisation -------------------------------------------------------------------------


def _normalised(x: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    centred = x - x.mean(-1, keepdim=True)
    scale = 1 / torch.sqrt((centred * centred).mean(-1, keepdim=True) + eps)
    return centred * scale, scale


def _layernorm_vjp(g: Tensor, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Args:
    unit, scale = _normalised(x, eps)
    inner = g * weight
    grad_x = scale * (inner - inner.mean(-1, keepdim=True) - unit * (inner * unit).mean(-1, keepdim=True))
    return grad_x, (g * unit).sum_to_size(weight.shape), g.sum_to_size(bias.shape), None


def _norm(draw: Draw, *shape: int, eps: float = 1e-5) -> Args:
    features = shape[-1]
    return draw.normal(*shape), draw.normal(features, shift=1.5), draw.normal(features), eps


def _norms(draw: Draw) -> Iterable[Sample]:
    yield Sample("x with three dimensions", _norm(draw, 2, 3, 5))
    yield Sample("a single vector x", _norm(draw, 5))
    yield Sample("a large eps", _norm(draw, 3, 5, eps=0.5))
    x, _, bias, eps = _norm(draw, 3, 5)
    yield Sample("zeros in the weight", (x, torch.tensor([0.0, 1, 2, 0, -1], dtype=torch.float64), bias, eps))


FAR_FROM_ZERO = torch.tensor([[1e7, 1e7 + 1, 1e7 + 2, 1e7 - 1.5, 1e7 - 2]], dtype=torch.float64)
layernorm = operation(
    "layernorm",
    lambda x, weight, bias, eps: _normalised(x, eps)[0] * weight + bias,
    _layernorm_vjp,
    Inputs(
        generic=lambda draw: _norm(draw, *draw.sizes(2)),
        small=lambda draw: _norm(draw, 2, 3),
        variants=_norms,
        extreme=(
            Sample(
                "values far from zero",
                (
                    FAR_FROM_ZERO,
                    torch.ones(5, dtype=torch.float64),
                    torch.zeros(5, dtype=torch.float64),
                    1e-5,
                ),
            ),
        ),
    ),
    contract=Contract(tolerance=1e-8),
)

EXERCISES = (matmul, bmm_any, bmul, bsub, swish_beta, linear, linear_nobias, layernorm)
