"""gradcheck in slow motion: one input element is moved at a time, and a column of the Jacobian appears.

The analytic Jacobian, row by row from backward, stands beside it; the last step compares the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from grader.errors import GraderError
from grader.learning.explorers.explorer import Choice, Control, Picture, Slider, explore, panels
from grader.learning.plots import heat

__all__ = ["FUNCTIONS", "analytic", "draw_with", "explore_gradcheck", "numeric"]

EPS, ATOL, RTOL = 1e-6, 1e-5, 1e-3
_MOST = 8
_MATRIX = torch.tensor([[0.5, 1, 0, 0], [0, -1, 2, 0], [0.3, 0, 1, -1], [0, 0.5, 0, 2]], dtype=torch.float64)
_X = torch.tensor([0.5, -1.0, 0.8, -0.3], dtype=torch.float64)

Apply = Callable[[Tensor], Tensor]


def _function(forward: Apply, vjp: Callable[[Tensor, Tensor], Tensor]) -> Apply:
    class Specimen(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return vjp(g, *ctx.saved_tensors)

    return Specimen.apply


FUNCTIONS: dict[str, Apply] = {
    "exp, lost a factor": _function(torch.exp, lambda g, x: g * x.exp() / 2),
    "exp, right": _function(torch.exp, lambda g, x: g * x.exp()),
    "exp, forgot g": _function(torch.exp, lambda g, x: x.exp()),
    "relu, lets all through": _function(torch.relu, lambda g, x: g),
    "running sum, runs the wrong way": _function(lambda x: x.cumsum(0), lambda g, x: g.cumsum(0)),
    "matrix product, not transposed": _function(lambda x: _MATRIX @ x, lambda g, x: _MATRIX @ g),
}


def explore_gradcheck(apply: Apply | None = None, x: Tensor | None = None) -> None:
    """Go through a gradcheck step by step, of a Function of yours (`explore_gradcheck(MyReLU.apply)`) or of ours.

    `x` is a float64 tensor with at most 8 elements, the point at which it is checked. Raises GraderError for another.
    """
    at = _X if x is None else x.detach()
    if at.dtype != torch.float64 or not 0 < at.numel() <= _MOST:
        raise GraderError(
            f"explore_gradcheck takes an x of float64 with 1 to {_MOST} elements; this one is "
            f"{str(at.dtype).removeprefix('torch.')} with {at.numel()}.\n"
            "Make one such as torch.tensor([0.5, -1.0, 0.8], dtype=torch.float64)."
        )
    functions = FUNCTIONS if apply is None else {"yours": apply} | (FUNCTIONS if x is None else {})
    last = at.numel() + 1
    controls: dict[str, Control] = {
        "function": Choice("Function", tuple(functions)),
        "step": Slider("step", tuple(range(last + 1)), 0 if apply is None else last, buttons=True),
    }
    explore(draw_with(functions, at), controls)


def numeric(f: Apply, x: Tensor, eps: float = EPS) -> Tensor:
    """The Jacobian (outputs, inputs) by central differences: column j from moving element j of x."""
    steps = eps * torch.eye(x.numel(), dtype=x.dtype)
    with torch.no_grad():
        moves = [f(x + step.reshape(x.shape)) - f(x - step.reshape(x.shape)) for step in steps]
    return torch.stack([move.flatten() / (2 * eps) for move in moves], dim=1)


def analytic(f: Apply, x: Tensor) -> Tensor:
    """The Jacobian (outputs, inputs) as backward gives it: row i for the upstream gradient that is 1 at output i."""
    leaf = x.detach().clone().requires_grad_()
    y = f(leaf)
    units = torch.eye(y.numel(), dtype=y.dtype)
    rows = [torch.autograd.grad(y, leaf, unit.reshape(y.shape), retain_graph=True)[0] for unit in units]
    return torch.stack([row.flatten() for row in rows])


def draw_with(functions: dict[str, Apply], x: Tensor) -> Callable[..., Picture]:
    """The drawing function for these Functions at x, of (function, step)."""

    def draw_gradcheck(*, function: str, step: int) -> Picture:
        N, A = numeric(functions[function], x), analytic(functions[function], x)
        return _picture(function, step, x.flatten(), N, A)

    return draw_gradcheck


def _picture(name: str, step: int, x: Tensor, N: Tensor, A: Tensor) -> Picture:
    inputs = x.numel()
    measured = N.clone()
    measured[:, min(step, inputs) :] = math.nan
    limit = max(N.abs().max().item(), A.abs().max().item())
    fig, axes = panels(3, height=3.3, top=0.65)
    difference = A - N if step > inputs else torch.full_like(N, math.nan)
    shown = {"N, measured": measured, "A, asked of backward": A, "A − N": difference}
    for ax, (title, values) in zip(axes, shown.items(), strict=True):
        heat(ax, values.round(decimals=6), title, limit=limit)
        for text in ax.texts:
            text.set_text(text.get_text().replace("nan", ""))
        ax.set_xlabel("input j")
    axes[0].set_ylabel("output i")
    if 1 <= step <= inputs:
        axes[0].get_xticklabels()[step - 1].set_weight("bold")
    said = _what_happens(step, x, N, A)
    fig.suptitle(said, fontsize=11, y=0.98)
    alt = f"{name}, step {step} of {inputs + 1}. {said} Measured columns so far: {min(step, inputs)} of {inputs}."
    return Picture(fig, alt)


def _what_happens(step: int, x: Tensor, N: Tensor, A: Tensor) -> str:
    """The step in a sentence."""
    if step == 0:
        return f"Backward was asked once per output, {len(A)} times: the rows of A. Nothing is measured yet."
    if step <= x.numel():
        value = x[step - 1].item()
        moves = f"x[{step - 1}] moves from {value:g} by ±{EPS:.0e}"
        return f"{moves}: how the outputs move, over 2ε, is column {step - 1} of N."
    wrong = int((~((A - N).abs() <= ATOL + RTOL * N.abs())).sum())
    if wrong:
        return f"gradcheck says no: {wrong} of {N.numel()} entries differ by more than atol + rtol |N|."
    return f"gradcheck says yes: all {N.numel()} entries agree to within atol + rtol |N|."
