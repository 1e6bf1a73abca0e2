"""Operations that pick elements: maxima, where ties leave a choice of gradients, and indexing."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.corpus.op import operation, vector
from grader.inputs import Draw, Inputs, Sample
from grader.subject import Probe

__all__ = ["EXERCISES"]

TIED_ROWS = torch.tensor([[1.0, 2, 2, 0], [3, 3, 3, 1], [0, 0, 0, 0]], dtype=torch.float64)


def _no_subgradient(fact: str) -> Failed:
    return Failed(
        fact,
        cause="every tied element gets the whole gradient, or none does.",
        look="what your mask is where several elements are the largest.",
    )


@check("ties_along_dim", stage="gradient")
def ties_along_dim(bench: Bench) -> None:
    """Catches gradients at tied maxima that are no subgradient: they must go to the maxima alone, not change
    sign, and sum to the upstream gradient. Any split is accepted. Cannot see anything away from ties."""
    upstream = bench.draw().normal(3, off=(0.0,))
    seen = bench.observe(Probe((TIED_ROWS, -1), upstream=((upstream,),)), where="rows with several maxima")
    got = seen.grads[0][0]
    if got is None or got.shape != TIED_ROWS.shape:
        raise _no_subgradient("At ties the gradient is missing or has another shape than x.")
    share = got / upstream[:, None]
    on_maxima = TIED_ROWS.amax(-1, keepdim=True) == TIED_ROWS
    if not bool(((share >= -1e-9) & (on_maxima | (share.abs() <= 1e-9))).all()):
        raise _no_subgradient("At ties an element that is not the largest receives gradient, or one of the wrong sign.")
    if not torch.allclose(got.sum(-1), upstream, rtol=1e-9):
        raise _no_subgradient(
            f"At ties a row receives {float(share[0].sum()):g} times the upstream gradient in all, not once."
        )


@check("ties_of_two", stage="gradient")
def ties_of_two(bench: Bench) -> None:
    """Catches gradients of maximum(a, b) at a == b that are no subgradient: the two shares must lie between 0 and 1 and
    sum to 1. Cannot see anything away from ties."""
    a, b = vector(1, 2, 3, -1), vector(1, 0, 3, -1)
    upstream = bench.draw().normal(4, off=(0.0,))
    seen = bench.observe(Probe((a, b), upstream=((upstream,),)), where="two tensors that are equal in places")
    shares = [torch.zeros_like(a) if g is None else g / upstream for g in seen.grads[0]]
    if any(bool(((s < -1e-9) | (s > 1 + 1e-9) | s.isnan()).any()) for s in shares):
        raise _no_subgradient("Where a == b a share of the gradient is negative, larger than the whole, or NaN.")
    if not torch.allclose(shares[0] + shares[1], torch.ones_like(a), rtol=1e-9):
        raise _no_subgradient(
            f"Where a == b the two receive {float((shares[0] + shares[1])[0]):g} times the gradient in all."
        )


def _rows(draw: Draw, *shape: int) -> Tensor:
    """Normal values, none of them within 0.05 of another, so that no finite difference changes which is largest."""
    count = math.prod(shape)
    return (draw.normal(count) * 0.02 + torch.randperm(count, generator=draw.generator) * 0.3 - 1.5).reshape(shape)


def _dims(draw: Draw) -> Iterable[Sample]:
    yield Sample("dim 0 of a matrix", (_rows(draw, *draw.shape(2)), 0))
    yield Sample("dim 1 of a matrix", (_rows(draw, *draw.shape(2)), 1))
    yield Sample("dim 1 of three", (_rows(draw, *draw.shape(3)), 1))
    yield Sample("dim -2 of three", (_rows(draw, *draw.shape(3)), -2))
    yield Sample("a vector", (_rows(draw, 5), 0))


def _amax_vjp(g: Tensor, x: Tensor, dim: int) -> tuple[Tensor, None]:
    largest = (x == x.amax(dim, keepdim=True)).to(x.dtype)
    return largest / largest.sum(dim, keepdim=True) * g.unsqueeze(dim), None


amax = operation(
    "amax",
    lambda x, dim: x.sort(dim).values.select(dim, -1),
    _amax_vjp,
    Inputs(
        generic=lambda draw: (_rows(draw, *draw.shape(2)), -1),
        small=lambda draw: (_rows(draw, 2, 3), -1),
        variants=_dims,
        # Close is not tied.
        extreme=(Sample("values that nearly tie", (vector(1, 1 + 1e-9, 0.5, 1e8, 1e8 - 1e-3, 0).reshape(2, 3), -1)),),
        nonfinite=(Sample("NaN in a row", (vector(math.nan, 0, 1).reshape(1, 3), -1)),),
    ),
    checks=(ties_along_dim,),
)


def _pair(draw: Draw, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """a in steps of 0.6 off a grid on which b lies: never closer than 0.2 to each other."""
    a, b = draw.normal(*first), draw.normal(*second)
    return torch.round(a / 0.6) * 0.6 + 0.3, torch.round(b / 0.6) * 0.6


def _pairs(draw: Draw) -> Iterable[Sample]:
    yield Sample("b broadcast over rows", _pair(draw, (3, 4), (4,)))
    yield Sample("a column and a row", _pair(draw, (3, 1), (1, 4)))
    yield Sample("b of zero dimensions", _pair(draw, (2, 3), ()))


def _maximum_vjp(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    share = torch.where(a > b, 1.0, torch.where(a == b, 0.5, 0.0)).to(g.dtype)
    return (g * share).sum_to_size(a.shape), (g * (1 - share)).sum_to_size(b.shape)


def _two_matrices(draw: Draw) -> tuple[Tensor, Tensor]:
    shape = draw.shape(2)
    return _pair(draw, shape, shape)


maximum = operation(
    "maximum",
    lambda a, b: torch.where(b > a, b, a + 0 * b),
    _maximum_vjp,
    Inputs(generic=_two_matrices, small=lambda draw: _pair(draw, (2, 3), (2, 3)), variants=_pairs),
    checks=(ties_of_two,),
)


def _picked(draw: Draw, rows: int, *picks: int) -> tuple[Tensor, Tensor]:
    return draw.normal(rows, 3), torch.tensor(picks)


take_rows = operation(
    "take_rows",
    lambda x, index: torch.stack([x[int(i)] for i in index]),
    lambda g, x, index: (torch.zeros_like(x).index_add(0, index, g), None),
    Inputs(
        generic=lambda draw: _picked(draw, 5, 4, 0, 2),
        variants=lambda draw: [
            Sample("rows taken several times", _picked(draw, 5, 1, 1, 0, 1, 3)),
            Sample("the same row twice", _picked(draw, 2, 0, 0)),
        ],
    ),
)

EXERCISES = (amax, maximum, take_rows)
