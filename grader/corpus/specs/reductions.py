"""Operations that reduce, scan or normalise along a dimension."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from grader.corpus.op import operation, vector
from grader.inputs import Draw, Inputs, Kink, Sample, elementwise

__all__ = ["EXERCISES"]

FAR = torch.tensor([[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0], [-800.0, 0.0, 800.0]], dtype=torch.float64)


def _along_dim(*, far: bool = True, nonfinite: Tensor | None = None) -> Inputs:
    """Inputs of op(x, dim): negative and positive dims, one to three dimensions, a square x."""

    def variants(draw: Draw) -> Iterable[Sample]:
        yield Sample("dim 0 of a matrix", (draw.normal(*draw.shape(2)), 0))
        yield Sample("dim 1 of a matrix", (draw.normal(*draw.shape(2)), 1))
        yield Sample("dim 0 of a square matrix", (draw.normal(3, 3), 0))
        yield Sample("dim 1 of three", (draw.normal(*draw.shape(3)), 1))
        yield Sample("dim -2 of three", (draw.normal(*draw.shape(3)), -2))
        yield Sample("a vector", (draw.normal(5), 0))

    return Inputs(
        generic=lambda draw: (draw.normal(*draw.shape(2)), -1),
        small=lambda draw: (draw.normal(2, 3), -1),
        variants=variants,
        edges=lambda draw: [Sample("one element", (draw.normal(1, 1), -1))],
        extreme=(Sample("large magnitudes", (FAR, -1)),) if far else (),
        nonfinite=() if nonfinite is None else (Sample("infinities", (nonfinite, -1)),),
    )


def _logsumexp(x: Tensor, dim: int) -> Tensor:
    top = x.amax(dim, keepdim=True)
    top = torch.where(top.abs() == math.inf, 0.0, top)
    return torch.log(torch.exp(x - top).sum(dim)) + top.squeeze(dim)


def _softmax(x: Tensor, dim: int) -> Tensor:
    weights = torch.exp(x - x.amax(dim, keepdim=True))
    return weights / weights.sum(dim, keepdim=True)


def _softmax_vjp(g: Tensor, x: Tensor, dim: int) -> tuple[Tensor, None]:
    y = _softmax(x, dim)
    return y * (g - (g * y).sum(dim, keepdim=True)), None


logsumexp = operation(
    "logsumexp",
    _logsumexp,
    lambda g, x, dim: (g.unsqueeze(dim) * _softmax(x, dim), None),
    _along_dim(nonfinite=vector(-math.inf, 0, 1, -math.inf, -math.inf, -math.inf).reshape(2, 3)),
)
softmax = operation("softmax", _softmax, _softmax_vjp, _along_dim(nonfinite=vector(-math.inf, 0, 1).reshape(1, 3)))
log_softmax = operation(
    "log_softmax",
    lambda x, dim: x - _logsumexp(x, dim).unsqueeze(dim),
    lambda g, x, dim: (g - _softmax(x, dim) * g.sum(dim, keepdim=True), None),
    _along_dim(),
)
cumsum = operation(
    "cumsum",
    lambda x, dim: torch.cumsum(x, dim),
    lambda g, x, dim: (g.flip(dim).cumsum(dim).flip(dim), None),
    _along_dim(far=False),
)

# ---- cross-entropy of logits and class indices ---------------------------------------------------

CONFIDENT = torch.tensor([[1000.0, 0.0, -1000.0], [-900.0, 900.0, 0.0]], dtype=torch.float64)


def _logits(draw: Draw, rows: int, classes: int) -> tuple[Tensor, Tensor]:
    return draw.normal(rows, classes), torch.tensor([draw.integer(0, classes - 1) for _ in range(rows)])


def _logits_variants(draw: Draw) -> Iterable[Sample]:
    yield Sample("as many rows as classes", _logits(draw, 3, 3))
    yield Sample("one row", _logits(draw, 1, 3))
    yield Sample("nine rows of two classes", _logits(draw, 9, 2))


LOGITS = Inputs(
    generic=lambda draw: _logits(draw, *draw.sizes(2)),
    small=lambda draw: _logits(draw, 3, 2),
    variants=_logits_variants,
    extreme=(Sample("confident and wrong logits", (CONFIDENT, torch.tensor([0, 0]))),),
)


def _xent_none(x: Tensor, target: Tensor) -> Tensor:
    return _logsumexp(x, 1) - x.gather(1, target[:, None]).squeeze(1)


def _minus_one_hot(x: Tensor, target: Tensor) -> Tensor:
    """The gradient of each row's loss: its probabilities, less one at the target."""
    return _softmax(x, 1) - (torch.arange(x.shape[1], device=x.device) == target[:, None]).to(x.dtype)


xent = operation(
    "xent",
    lambda x, target: _xent_none(x, target).mean(),
    lambda g, x, target: (g * _minus_one_hot(x, target) / x.shape[0], None),
    LOGITS,
)
xent_none = operation(
    "xent_none", _xent_none, lambda g, x, target: (g[:, None] * _minus_one_hot(x, target), None), LOGITS
)

# ---- the whole tensor to one number, rows to their length ----------------------------------------

sumsq = operation("sumsq", lambda x: (x * x).sum(), lambda g, x: (2 * g * x,), elementwise())


def _mean_edges(draw: Draw) -> Iterable[Sample]:
    yield Sample("a 0-d tensor", (draw.normal(),))
    yield Sample("a tensor of one element", (draw.normal(1, 1),))


mean = operation(
    "mean",
    lambda x: x.sum() / x.numel(),
    lambda g, x: ((g / x.numel()).expand(x.shape),),
    Inputs(
        generic=lambda draw: (draw.normal(*draw.shape(2)),),
        variants=lambda draw: [
            Sample("a vector", (draw.normal(7),)),
            Sample("three dimensions", (draw.normal(2, 3, 4),)),
        ],
        edges=_mean_edges,  # the mean of nothing is NaN: no empty tensor
    ),
)


def _l2norm_vjp(g: Tensor, x: Tensor) -> tuple[Tensor]:
    length = (x * x).sum(-1, keepdim=True)
    empty = length == 0
    return (torch.where(empty, 0.0, g.unsqueeze(-1) * x / torch.sqrt(torch.where(empty, 1.0, length))),)


def _rows(draw: Draw) -> Iterable[Sample]:
    yield Sample("a vector", (draw.normal(5),))
    yield Sample("three dimensions", (draw.normal(*draw.shape(3)),))


l2norm = operation(
    "l2norm",
    lambda x: torch.sqrt((x * x).sum(-1)),
    _l2norm_vjp,
    Inputs(
        generic=lambda draw: (draw.normal(*draw.shape(2)),),
        small=lambda draw: (draw.normal(2, 3),),
        variants=_rows,
        edges=lambda draw: [Sample("rows of one element", (draw.normal(3, 1),))],
        # At the zero vector every subgradient has entries between -1 and 1.
        kinks=(Kink((torch.zeros(1, 3, dtype=torch.float64),), low=-torch.ones(1, 3), high=torch.ones(1, 3)),),
    ),
)

EXERCISES = (logsumexp, softmax, log_softmax, cumsum, xent, xent_none, sumsq, mean, l2norm)
