"""Scalar functions against 50 digits of mpmath, value and slope, from the middle to the far tails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import pytest
import torch

from grader.corpus import find

Real = Any  # an mpmath number
POINTS = (-40.0, -6.5, -1.25, -0.3, 0.2, 0.75, 2.0, 6.0, 38.0)


def _sigmoid(x: Real) -> Real:
    return 1 / (1 + mpmath.exp(-x))


SCALAR: dict[str, Callable[[Real], Real]] = {
    "exp": mpmath.exp,
    "swish": lambda x: x * _sigmoid(x),
    "fix_tanh": mpmath.tanh,
    "corpus/tanh": mpmath.tanh,
    "corpus/sigmoid": _sigmoid,
    "corpus/softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "corpus/swish": lambda x: x * _sigmoid(x),
    "corpus/np_sin": mpmath.sin,
    "corpus/sp_erf": mpmath.erf,
    "corpus/reciprocal": lambda x: 1 / x,
    "cube": lambda x: x**3,
    "corpus/square": lambda x: x**2,
}


@pytest.mark.parametrize("id", SCALAR)
def test_value_and_slope(id: str) -> None:
    reference = find(id).reference
    assert reference.vjp is not None
    x = torch.tensor(POINTS, dtype=torch.float64)
    values, slopes = reference.forward(x), reference.vjp(torch.ones_like(x), x)[0]
    with mpmath.workdps(50):
        for at, value, slope in zip(POINTS, values.tolist(), slopes.tolist(), strict=True):
            exact = mpmath.mpf(at)
            assert value == pytest.approx(float(SCALAR[id](exact)), rel=1e-12, abs=1e-15), at
            assert slope == pytest.approx(float(mpmath.diff(SCALAR[id], exact)), rel=1e-10, abs=1e-15), at


def test_log_sum_exp_and_cross_entropy_of_far_logits() -> None:
    """Rows whose exponentials no float64 holds."""
    logits = [[1000.0, 1001.0, 999.0], [-1000.0, -1001.0, -999.0]]
    x, target = torch.tensor(logits, dtype=torch.float64), torch.tensor([2, 0])
    with mpmath.workdps(50):
        exact = [mpmath.log(sum(mpmath.exp(mpmath.mpf(v)) for v in row)) for row in logits]
        loss = [float(exact[0] - 999), float(exact[1] + 1000)]
    assert find("corpus/logsumexp").reference.forward(x, 1).tolist() == pytest.approx([float(e) for e in exact])
    assert find("corpus/xent_none").reference.forward(x, target).tolist() == pytest.approx(loss, rel=1e-12)
