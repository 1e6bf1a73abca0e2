"""How a value differs from the right one: in shape, dtype or value, and where it is worst."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from grader.subject import Args

__all__ = ["cast", "difference", "short"]


def difference(got: Any, right: Tensor, tolerance: float) -> str:
    """ "" if got equals right in shape, dtype and value (None is zero), else what differs and where it is
    worst."""
    if got is None:
        return "" if not right.numel() or float(right.abs().max()) == 0 else "it is None (nothing was passed on)"
    if not isinstance(got, Tensor):
        return f"it is a {type(got).__name__}, not a tensor"
    if got.shape != right.shape:
        return f"its shape is {tuple(got.shape)}, expected {tuple(right.shape)}"
    if got.dtype != right.dtype:
        return f"its dtype is {short(got.dtype)}, expected {short(right.dtype)}"
    return _worst(got, right, tolerance)


def _worst(got: Tensor, right: Tensor, tolerance: float) -> str:
    if torch.equal(got, right) or _near(got, right, tolerance):  # nearly always, and fast
        return ""
    if not right.is_floating_point():
        bad = got != right
    else:
        tolerance = max(tolerance, 1e-5) if right.dtype == torch.float32 else tolerance
        bad = ~torch.isclose(got, right, rtol=tolerance, atol=tolerance * _scale(right, tolerance), equal_nan=True)
    if not bool(bad.any()):
        return ""
    gap = torch.where(bad, (got.double() - right.double()).abs().nan_to_num(float("inf")), -1.0)
    at = int(gap.flatten().argmax())
    place = [int(i) for i in torch.unravel_index(torch.tensor(at), right.shape)] if right.dim() else []
    count = f"{int(bad.sum())} of {bad.numel()} elements differ, " if bad.numel() > 1 else ""
    where = f" at {place}" if place else ""
    mine, expected = (t.flatten()[at].item() for t in (got, right))
    digits = 6 if f"{mine:.6g}" != f"{expected:.6g}" else 17
    values = (
        f"{mine:.{digits}g} instead of {expected:.{digits}g}"
        if right.is_floating_point()
        else f"{mine} instead of {expected}"
    )
    return f"{count}{'the worst' if count else 'it is'}{where}{':' if count else ''} {values}"


def _near(got: Tensor, right: Tensor, tolerance: float) -> bool:
    """Whether every element is within `tolerance` of the right one by itself; not so where one is not finite."""
    return right.is_floating_point() and bool(((got - right).abs() <= tolerance * right.abs()).all())


def _scale(right: Tensor, tolerance: float) -> float:
    """By how much the absolute tolerance shrinks for a right answer that is small as a whole.

    Never below 1e-5, so that what cancels to nearly zero is not held to its rounding noise; loose comparisons of low
    precision stay as they are.
    """
    if tolerance > 1e-5 or right.numel() == 0:
        return 1.0
    return min(1.0, max(1e-5, float(right.detach().abs().nan_to_num(1.0).max())))


def short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def cast(args: Iterable[Any], dtype: torch.dtype) -> Args:
    """The arguments with floating-point tensors in another dtype."""
    return tuple(a.to(dtype) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)
