"""Finite differences: how exact a measured slope is, for every step from 1e-1 to 1e-15, in both precisions.

Every point of the curves is computed; the microscope on the right shows the values that the difference is made of.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

from grader.learning.explorers.explorer import Choice, Control, Picture, Slider, explore, panels
from grader.learning.plots import COLORS, TEXT

__all__ = ["FUNCTIONS", "PRECISIONS", "draw", "error", "explore_differences"]

FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], float]] = {
    "sin(x) at x = 1": (torch.sin, 1.0),
    "exp(x) at x = 2": (torch.exp, 2.0),
    "x**3 at x = 1": (lambda x: x**3, 1.0),
    "sigmoid(x) at x = 0.5": (torch.sigmoid, 0.5),
}
"""A function and the point at which its slope is measured."""
PRECISIONS = {"float64": torch.float64, "float32": torch.float32}
_STEPS = tuple(10.0**-k for k in range(1, 16))
_FLOOR = 1e-16  # where an error of exactly 0 is drawn


def explore_differences() -> None:
    """Choose a function and a step: how many digits of the slope are right?"""
    controls: dict[str, Control] = {
        "function": Choice("slope of", tuple(FUNCTIONS)),
        "eps": Slider("step ε", _STEPS, 1e-6, lambda eps: f"{eps:.0e}"),
    }
    explore(draw, controls)


def error(function: str, precision: str, eps: float, *, central: bool = True) -> float:
    """How far a difference quotient of step eps, computed in that precision, is from the slope (autograd, float64)."""
    f, at = FUNCTIONS[function]
    x, step = torch.tensor(at, dtype=PRECISIONS[precision]), torch.tensor(eps, dtype=PRECISIONS[precision])
    measured = (f(x + step) - f(x - step)) / (2 * step) if central else (f(x + step) - f(x)) / step
    return abs(measured.double().item() - _slope(function))


@lru_cache
def _slope(function: str) -> float:
    f, at = FUNCTIONS[function]
    leaf = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(f(leaf), leaf)
    return float(grad)


@lru_cache
def _curves(function: str) -> dict[tuple[str, bool], tuple[list[float], list[float]]]:
    """(steps, errors) by precision and whether the difference is central."""
    steps = torch.logspace(-15, -1, 71, dtype=torch.float64).tolist()
    return {
        (name, central): (steps, [max(error(function, name, eps, central=central), _FLOOR) for eps in steps])
        for name in PRECISIONS
        for central in (True, False)
    }


def draw(*, function: str, eps: float) -> Picture:
    """Left the error against the step; right the function's computed values around the point, a few steps wide."""
    fig, (left, right) = panels(2, height=3.4, top=0.65, width_ratios=[3, 2])
    errors = {name: error(function, name, eps) for name in PRECISIONS}
    for name, color in zip(PRECISIONS, COLORS, strict=False):
        left.loglog(*_curves(function)[name, False], color=color, linewidth=0.8, alpha=0.7)
        left.loglog(*_curves(function)[name, True], color=color, linewidth=2, label=name)
        left.plot(eps, max(errors[name], _FLOOR), "o", color=color, markersize=8)
        right.plot(*_magnified(function, name, eps), color=color, linewidth=2)
    left.axvline(eps, color=TEXT, linewidth=0.8, linestyle=":")
    left.set(title="Error of the slope (thin: one-sided)", xlabel="step ε", ylim=(_FLOOR / 3, 1e2))
    left.set(xticks=_STEPS[::2], yticks=[10.0**k for k in range(-15, 2, 3)])
    left.minorticks_off()
    for axis in (left.xaxis, left.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.0e}")  # plain text: formulas are slow to set
    left.legend(loc="lower left")
    right.set(title=f"f around x, magnified {1 / eps:.0e}", xlabel="steps of ε from x", xlim=(-2, 2))
    said = ", ".join(f"{value:.1e} in {name}" for name, value in errors.items())
    fig.suptitle(f"ε = {eps:.0e}: off by {said}", fontsize=11, y=0.98)
    alt = (
        f"The error of the central difference for the slope of {function}, against the step: a V for each precision, "
        f"the float64 one far deeper. With the step {eps:.0e} the measured slope is off by {said}. Right: the computed "
        "values of the function within two steps of x: a line while the step is large, stairs once rounding shows."
    )
    return Picture(fig, alt)


def _magnified(function: str, precision: str, eps: float) -> tuple[Tensor, Tensor]:
    """(steps from x, rise in steps) of the function as that precision computes it."""
    f, at = FUNCTIONS[function]
    t = torch.linspace(-2, 2, 201, dtype=torch.float64)
    x = (at + eps * t).to(PRECISIONS[precision])
    here = f(torch.tensor(at, dtype=PRECISIONS[precision]))
    return t, (f(x) - here).double() / eps
