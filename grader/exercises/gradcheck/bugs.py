"""Lesson 04: reading two Jacobians, the numerical and the analytic one, like a doctor reads a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from grader.exercise import Exercise, Reference
from grader.inputs import Draw, Inputs, Sample

__all__ = ["name_the_bug"]

Pair = tuple[Tensor, Tensor]


def _named(j_numeric: Tensor, j_analytic: Tensor) -> str:
    """The first of the six definitions in the lesson that fits."""

    def close(a: Tensor, b: Tensor) -> bool:
        return a.shape == b.shape and torch.allclose(a, b, rtol=1e-5, atol=1e-5)

    factor = (j_analytic * j_numeric).sum() / (j_numeric**2).sum()
    rules = {
        "ok": close(j_analytic, j_numeric),
        "sign": close(j_analytic, -j_numeric),
        "factor": float(factor.abs()) > 1e-3 and close(j_analytic, factor * j_numeric),
        "transpose": close(j_analytic, j_numeric.T),
        "no-upstream": close(j_analytic, j_numeric.sum(0).expand(j_numeric.shape)),
    }
    return next((name for name, fits in rules.items() if fits), "mask")


def _dense(draw: Draw, *shape: int) -> Tensor:
    return draw.normal(*shape, scale=1.5, off=(0.0,), gap=0.3)


def _diagonal(draw: Draw) -> Tensor:
    return torch.diag(_dense(draw, draw.integer(4, 6)))


def _masked(draw: Draw, count: int) -> Pair:
    """The Jacobian of a piecewise operation, and one with the opposite mask."""
    slopes, keep = _dense(draw, count), torch.arange(count) % 2 == 0
    return torch.diag(slopes * keep), torch.diag(slopes * ~keep)


def _some_zero(draw: Draw, j: Tensor) -> Tensor:
    wrong = j.clone()
    wrong[draw.integer(0, len(j) - 2)] = 0
    return wrong


def _pairs(draw: Draw) -> Iterable[tuple[str, Callable[[], Pair]]]:
    m, n = draw.sizes(2)
    wide, diagonal, square = _dense(draw, m, n), _diagonal(draw), _dense(draw, 4, 4)
    opened, mask = _masked(draw, 5)
    whole = opened + mask
    triangle = torch.triu(square)
    equal, one_column = wide[:1].expand(m, n).clone(), torch.arange(n) == 0
    # The diagnosis probes with the first six: each is telling for one misconception.
    yield "a Jacobian with every sign flipped", lambda: (wide, -wide)
    yield "a diagonal Jacobian two percent too small", lambda: (diagonal, 0.98 * diagonal)
    yield "a Jacobian multiplied by -3", lambda: (wide, -3 * wide)
    yield "an elementwise backward that forgets g", lambda: (diagonal, diagonal.sum(0).expand_as(diagonal))
    yield (
        "a backward that forgets g, for several outputs per input",
        lambda: (wide, wide.sum(0).expand_as(wide)),
    )
    yield "a transposed triangular Jacobian", lambda: (triangle, triangle.T)
    yield "a right Jacobian", lambda: (wide, wide)
    yield "a right diagonal Jacobian", lambda: (diagonal, diagonal)
    yield "a diagonal Jacobian with every sign flipped", lambda: (diagonal, -diagonal)
    yield "a Jacobian twice too large", lambda: (wide, 2 * wide)
    yield "a transposed Jacobian", lambda: (square, square.T)
    yield "a mask that is inverted", lambda: (opened, mask)
    yield "a mask that is missing", lambda: (opened, whole)
    yield "a mask too many", lambda: (whole, opened)
    yield "a backward that returns zeros", lambda: (wide, torch.zeros_like(wide))
    yield "a mask that leaves equal rows", lambda: (equal, one_column * equal)
    yield "an output whose gradient is masked away", lambda: (wide, _some_zero(draw, wide))


def _measured(draw: Draw, pair: Pair) -> Pair:
    """The numerical Jacobian with the small errors of a finite difference."""
    numeric, analytic = pair
    return numeric + draw.normal(*numeric.shape, scale=1e-8), analytic.clone()


def _all(draw: Draw) -> Iterable[Sample]:
    for name, pair in _pairs(draw):
        yield Sample(name, _measured(draw, pair()))


name_the_bug = Exercise(
    id="name_the_bug",
    lesson="04_gradcheck",
    title="Name the bug from its two Jacobians",
    symbol="name_the_bug",
    kind="plain",
    points=4,
    reference=Reference(forward=_named),
    inputs=Inputs(generic=lambda draw: _measured(draw, (_diagonal(draw),) * 2), variants=_all),
    stages={"value": 1.0},
    hints=(
        "Write one helper, close(A, B): same shape and equal up to a tolerance wider than a finite "
        "difference's error. Then go through the table from top to bottom.",
        "For the factor do not divide entry by entry: 0/0 is nan. The number c that brings c N closest to "
        "A is (A * N).sum() / (N * N).sum(); then ask close(A, c * N).",
        "transpose: close(A, N.T), which a check of the shapes inside close makes safe. no-upstream: "
        "close(A, N.sum(0).expand_as(N)). What is left is a mask.",
    ),
)


@name_the_bug.misconception(
    "exact_equality",
    "You compare with == or without a tolerance. The numerical Jacobian carries errors of a finite "
    "difference, so no two entries are ever equal to the last bit.",
)
def bug_exact_equality(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    c = (a * n).sum() / (n * n).sum()
    if torch.equal(a, n):
        return "ok"
    if torch.equal(a, -n):
        return "sign"
    if torch.equal(a, c * n):
        return "factor"
    if n.shape[0] == n.shape[1] and torch.equal(a, n.T):
        return "transpose"
    if torch.equal(a, n.sum(0).expand_as(n)):
        return "no-upstream"
    return "mask"


@name_the_bug.misconception(
    "divides_by_zero",
    "You divide the two matrices entry by entry. Most Jacobians are full of zeros, 0/0 is nan, and "
    "nothing equals nan: find the factor from all entries together.",
)
def divides_by_zero(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    ratio = a / torch.where(n.abs() < 1e-6, torch.zeros_like(n), n)
    if torch.allclose(a, n, atol=1e-5):
        return "ok"
    if torch.allclose(a, -n, atol=1e-5):
        return "sign"
    if torch.allclose(ratio, ratio[0, 0].expand_as(ratio), atol=1e-5):
        return "factor"
    if n.shape[0] == n.shape[1] and torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    if torch.allclose(a, n.sum(0).expand_as(n), atol=1e-5):
        return "no-upstream"
    return "mask"


@name_the_bug.misconception(
    "sign_taken_for_factor",
    "A flipped sign is a factor of -1, but it has a name of its own in the table and stands before the "
    "factor.",
)
def sign_taken_for_factor(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    c = (a * n).sum() / (n * n).sum()
    if torch.allclose(a, n, atol=1e-5):
        return "ok"
    if c.abs() > 1e-3 and torch.allclose(a, c * n, atol=1e-5):
        return "factor"
    if n.shape[0] == n.shape[1] and torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    if torch.allclose(a, n.sum(0).expand_as(n), atol=1e-5):
        return "no-upstream"
    return "mask"


@name_the_bug.misconception(
    "only_round_factors",
    "You look for a factor of 2 or 1/2 only. A factor can be any number: let the matrices tell you which.",
)
def only_round_factors(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    if torch.allclose(a, n, atol=1e-5):
        return "ok"
    if torch.allclose(a, -n, atol=1e-5):
        return "sign"
    if torch.allclose(a, 2 * n, atol=1e-5) or torch.allclose(a, n / 2, atol=1e-5):
        return "factor"
    if n.shape[0] == n.shape[1] and torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    if torch.allclose(a, n.sum(0).expand_as(n), atol=1e-5):
        return "no-upstream"
    return "mask"


@name_the_bug.misconception(
    "tolerance_too_wide",
    "Your tolerance forgives an error of two percent and says ok. A finite difference in float64 is right "
    "to seven digits or so.",
)
def bug_tolerance_too_wide(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    c = (a * n).sum() / (n * n).sum()
    if torch.allclose(a, n, rtol=0.05, atol=0.05):
        return "ok"
    if torch.allclose(a, -n, rtol=0.05, atol=0.05):
        return "sign"
    if c.abs() > 1e-3 and torch.allclose(a, c * n, atol=1e-5):
        return "factor"
    if n.shape[0] == n.shape[1] and torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    if torch.allclose(a, n.sum(0).expand_as(n), atol=1e-5):
        return "no-upstream"
    return "mask"


@name_the_bug.misconception(
    "mask_asked_too_early",
    "You ask for a mask before you ask for a missing upstream gradient. For an elementwise operation "
    "forgetting g fills the zeros beside the diagonal, which looks like a missing mask: keep the order of "
    "the table.",
)
def mask_asked_too_early(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    c = (a * n).sum() / (n * n).sum()
    if torch.allclose(a, n, atol=1e-5):
        return "ok"
    if torch.allclose(a, -n, atol=1e-5):
        return "sign"
    if c.abs() > 1e-3 and torch.allclose(a, c * n, atol=1e-5):
        return "factor"
    differ = (a - n).abs() > 1e-5
    if bool(((a.abs() < 1e-5) | (n.abs() < 1e-5))[differ].all()):
        return "mask"
    if n.shape[0] == n.shape[1] and torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    return "no-upstream"


@name_the_bug.misconception(
    "transpose_of_any_shape",
    "You compare with the transpose without asking whether the matrix is square; for other shapes that "
    "comparison is an error. A Jacobian need not be square.",
)
def transpose_of_any_shape(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    c = (a * n).sum() / (n * n).sum()
    if torch.allclose(a, n, atol=1e-5):
        return "ok"
    if torch.allclose(a, -n, atol=1e-5):
        return "sign"
    if c.abs() > 1e-3 and torch.allclose(a, c * n, atol=1e-5):
        return "factor"
    if torch.allclose(a, n.T, atol=1e-5):
        return "transpose"
    if torch.allclose(a, n.sum(0).expand_as(n), atol=1e-5):
        return "no-upstream"
    return "mask"


@name_the_bug.variant("by_spread_of_ratios", "From the most exact name to the vaguest, each with one tolerance.")
def by_spread_of_ratios(J_numeric, J_analytic):
    n, a = J_numeric, J_analytic
    tiny = 1e-5
    if (a - n).abs().max() < tiny:
        return "ok"
    if (a + n).abs().max() < tiny:
        return "sign"
    both = (n.abs() > tiny) & (a.abs() > tiny)
    zeros_match = bool(((n.abs() > tiny) == (a.abs() > tiny)).all())
    ratios = a[both] / n[both]
    if zeros_match and ratios.max() - ratios.min() < tiny:
        return "factor"
    if n.shape == n.T.shape and (a - n.T).abs().max() < tiny:
        return "transpose"
    if (a - n.sum(dim=0)).abs().max() < tiny:
        return "no-upstream"
    return "mask"
