"""Sentences about numbers, for the alt text of a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch import Tensor

from grader.where.model import Mark, Number

__all__ = ["instead", "intervals", "listed", "marks_said", "number", "runs", "setting_said", "worst"]


def number(value: float) -> str:
    """A number as one would say it: 3 digits, and NaN by its name."""
    return f"{value + 0.0:.3g}" if math.isfinite(value) else "NaN" if math.isnan(value) else f"{value}"


def instead(yours: float, right: float) -> str:
    """ "1 instead of 2", with as many digits as it takes to tell them apart."""
    digits = next((d for d in (3, 6, 9) if f"{yours:.{d}g}" != f"{right:.{d}g}"), 12)
    return f"{yours + 0.0:.{digits}g} instead of {right + 0.0:.{digits}g}".replace("nan", "NaN")


def listed(parts: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([*([", ".join(parts[:-1])] if len(parts) > 1 else []), *parts[-1:]])


def runs(x: Tensor, bad: Tensor) -> tuple[tuple[float, float], ...]:
    """The intervals of x in which `bad` holds, each half a step wider than its points."""
    found: list[tuple[float, float]] = []
    step, was_bad = float(x[1] - x[0]) / 2, False
    for at, is_bad in zip(x.tolist(), bad.tolist(), strict=True):
        if is_bad:
            found.append((found.pop()[0] if was_bad else at - step, at + step))
        was_bad = is_bad
    return tuple((float(f"{low:.5g}"), float(f"{high:.5g}")) for low, high in found)


def intervals(shaded: Sequence[tuple[float, float]], step: float) -> str:
    """ "from -3 to 0 and from 1 to 2", no finer than the step between points; of many the first and how many more."""
    digits = -math.floor(math.log10(step)) - 1
    said = [f"from {number(round(low, digits))} to {number(round(high, digits))}" for low, high in shaded[:3]]
    if len(shaded) > 3:
        said.append(f"in {len(shaded) - 3} more places")
    return listed(said)


def _over(x: Tensor) -> str:
    return f"x from {number(float(x[0]))} to {number(float(x[-1]))}"


def worst(yours: Tensor, right: Tensor, bad: Tensor) -> int:
    """The flat index at which they differ most; NaN differs more than any number."""
    gap = (yours - right).abs().nan_to_num(float("inf"))
    return int(gap.where(bad, gap.new_full((), -1.0)).flatten().argmax())


def setting_said(symbol: str, x: Tensor, rest: Sequence[tuple[str, object]]) -> str:
    """What a picture of curves is of: "MyReLU for x from -3 to 3."."""
    numbers = [f"{name} = {number(value)}" for name, value in rest if isinstance(value, (int, float))]
    others = f", with {listed(numbers)}" if numbers else ""
    return f"{symbol} for {_over(x)}{others}."


def marks_said(whose: str, marks: Sequence[Mark]) -> str:
    """ "At x = 0 your gradient is 2; from 0 to 1 would be right."; of many the first three."""
    said = []
    for mark in marks[:3]:
        right = _or_nan(mark.low)
        if mark.low != mark.high:
            right = f"anything from {right} to {_or_nan(mark.high)}"
        said.append(f"At x = {number(mark.x)} {whose} is {_or_nan(mark.y)}; {right} would be right.")
    return " ".join(said)


def _or_nan(value: Number) -> str:
    return "no finite number" if value is None else number(value)
