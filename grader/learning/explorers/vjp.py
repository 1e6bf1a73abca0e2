"""The vector-Jacobian product in numbers: an x, an upstream gradient, the Jacobian, and what backward must return."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from grader.learning.explorers.explorer import Choice, Control, Picture, Slider, explore, panels
from grader.learning.plots import heat

__all__ = ["FUNCTIONS", "draw", "explore_vjp", "products"]

FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "neighbours: x[:-1] * x[1:]": lambda x: x[:-1] * x[1:],
    "square: x**2": lambda x: x**2,
    "softmax(x)": lambda x: torch.softmax(x, -1),
    "running sum: cumsum(x)": lambda x: x.cumsum(-1),
    "sum of squares": lambda x: (x**2).sum().reshape(1),
}
_START = {"x": (1.0, -2.0, 3.0, 0.5), "g": (1.0, 0.5, -2.0, 0.0)}
_VALUES = tuple(k / 2 for k in range(-6, 7))


def explore_vjp() -> None:
    """Choose a function, the point x and the upstream gradient g; see the Jacobian and g J."""
    controls: dict[str, Control] = {"function": Choice("y =", tuple(FUNCTIONS))}
    for letter, start in _START.items():
        for k, value in enumerate(start):
            of = f"x, element {k}" if letter == "x" else f"g of output {k}"
            controls[f"{letter}{k}"] = Slider(of, _VALUES, value)
    columns = tuple(tuple(f"{letter}{k}" for k in range(4)) for letter in _START)
    explore(draw, controls, columns=columns)


def products(function: str, x: Tensor, g: Tensor) -> tuple[Tensor, Tensor]:
    """The Jacobian (outputs, inputs) of a function at x, and what autograd's own backward gives for g."""
    f = FUNCTIONS[function]
    J: Tensor = torch.autograd.functional.jacobian(f, x)  # type: ignore[no-untyped-call]
    leaf = x.clone().requires_grad_()
    (vjp,) = torch.autograd.grad(f(leaf), leaf, g)
    return J, vjp


def draw(*, function: str, **elements: float) -> Picture:
    """g, the Jacobian and their product side by side; g has as many entries as there are outputs."""
    x = torch.tensor([elements[f"x{k}"] for k in range(4)], dtype=torch.float64)
    outputs = FUNCTIONS[function](x).numel()
    g = torch.tensor([elements[f"g{k}"] for k in range(outputs)], dtype=torch.float64)
    J, vjp = products(function, x, g)
    fig, axes = panels(3, height=2.7)
    limit = max(6.0, J.abs().max().item(), vjp.abs().max().item())
    heat(axes[0], g[None], "upstream g", limit=limit)
    heat(axes[1], J, "Jacobian J", limit=limit)
    heat(axes[2], vjp[None], "g J: what backward returns", limit=limit)
    axes[0].set_xlabel("outputs y")
    axes[1].set(xlabel="inputs x", ylabel="outputs y")
    axes[2].set_xlabel("inputs x")
    for row in (axes[0], axes[2]):
        row.set_yticks([])
    alt = (
        f"Upstream gradient g = {_row(g)}, times the {outputs} by 4 Jacobian with the rows "
        f"{'; '.join(_row(row) for row in J)}, is g J = {_row(vjp)}: what backward must return "
        f"for y = {function} at x = {_row(x)}."
    )
    return Picture(fig, alt)


def _row(values: Tensor) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values.tolist()) + ")"
