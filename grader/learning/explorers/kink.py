"""A function with a kink at 0, and the slope that autograd chooses there, measured and not looked up."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.learning.explorers.explorer import Choice, Control, Picture, Slider, explore, panels
from grader.learning.plots import COLORS, TEXT

__all__ = ["FUNCTIONS", "draw", "explore_kink", "slope"]

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "torch.relu(x)": torch.relu,
    "x.clamp(min=0)": lambda x: x.clamp(min=0),
    "torch.maximum(x, 0)": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "where(x > 0, x, 0)": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "where(x >= 0, x, 0)": lambda x: torch.where(x >= 0, x, torch.zeros_like(x)),
    "leaky_relu(x, 0.2)": lambda x: F.leaky_relu(x, 0.2),
    "elu(x)": F.elu,
    "x.abs()": torch.abs,
}
_POINTS = tuple(round(0.1 * k, 1) for k in range(-10, 11))
_EDGE = 1.5


def explore_kink() -> None:
    """Choose a function and a point: what slope does autograd give there?"""
    controls: dict[str, Control] = {"function": Choice("y =", tuple(FUNCTIONS)), "x": Slider("x", _POINTS, 0.0)}
    explore(draw, controls)


def slope(function: str, x: Tensor) -> Tensor:
    """What autograd gives for an elementwise function at every element of x."""
    leaf = x.detach().clone().requires_grad_()
    (grad,) = torch.autograd.grad(FUNCTIONS[function](leaf).sum(), leaf)
    return grad


def draw(*, function: str, x: float) -> Picture:
    """Left the function with the tangent that autograd's slope means at x; right its slopes."""
    f = FUNCTIONS[function]
    at = torch.tensor(x, dtype=torch.float64)
    here, value = slope(function, at).item(), f(at).item()
    near = torch.tensor([-1e-6, 1e-6], dtype=torch.float64)
    before, after = slope(function, near).tolist()
    xs = torch.linspace(-_EDGE, _EDGE, 300, dtype=torch.float64)  # an even number: 0 is not among them

    fig, (left, right) = panels(2, height=3)
    if x == 0:
        for k in range(5):
            left.plot(xs, (before + k / 4 * (after - before)) * xs, color=TEXT, linewidth=0.7)
    left.plot(xs, f(xs), color=COLORS[0], linewidth=3)
    left.plot(xs, value + here * (xs - x), "--", color=COLORS[1], linewidth=2)
    left.plot(x, value, "o", color=COLORS[1], markersize=8)
    left.set(title=f"y = {function}", xlabel="x", ylim=(-1.1, 1.6))

    for piece in (xs < 0, xs > 0):
        right.plot(xs[piece], slope(function, xs[piece]), color=COLORS[0], linewidth=3)
    right.plot([0, 0], [before, after], color=TEXT, linewidth=7, alpha=0.35, solid_capstyle="butt")
    right.plot(x, here, "o", color=COLORS[1], markersize=9)
    right.set(title=f"autograd: slope {here:.4g} at x = {x:g}", xlabel="x", ylim=(-1.25, 1.35))
    right.set_yticks([-1, -0.5, 0, 0.5, 1])
    return Picture(fig, _in_words(function, x, here, before, after))


def _in_words(function: str, x: float, here: float, before: float, after: float) -> str:
    text = f"Left: y = {function} with the line of slope {here:.4g} through its point at x = {x:g}. Right: its slope, "
    text += f"{before:.4g} just left of 0 and {after:.4g} just right of it"
    if x == 0 and abs(after - before) > 1e-3:
        text += f"; at 0 every value between is a subgradient, and autograd gives {here:.4g}"
    return text + "."
