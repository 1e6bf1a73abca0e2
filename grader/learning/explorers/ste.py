"""A straight-through sign with a window: what it declares, and whether a small net of signs learns with it.

The net is that of lesson 03: points on two noisy rings, eight hidden signs. It trains while one looks on, a picture
every few steps, and what was trained once is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function

from grader.learning.explorers.explorer import Picture, Slider, explore, panels
from grader.learning.plots import COLORS, TEXT

__all__ = ["NO_STE", "STEPS", "WINDOWS", "draw", "explore_ste", "train"]

NO_STE = 0.0  # a window that lets nothing through: the true gradient of a sign
WINDOWS = (NO_STE, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 4.0, 8.0, float("inf"))
STEPS = 300
_EVERY = 20
_known: dict[float, list[float]] = {}


def explore_ste() -> None:
    """Choose the window of a straight-through sign, and see a net train with it."""
    explore(draw, {"window": Slider("window", WINDOWS, 1.0, _name)})


class _Sign(Function):
    """Value: 1 where h >= 0, else -1. Declared gradient: that of a line cut off at ±window."""

    @staticmethod
    def forward(ctx: Any, h: Tensor, window: float) -> Tensor:
        ctx.save_for_backward(h.abs() < window)
        return torch.where(h >= 0, 1.0, -1.0).to(h.dtype)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None]:
        (inside,) = ctx.saved_tensors
        return g * inside, None


def train(window: float) -> Iterator[list[float]]:
    """Train the net and yield the test accuracies so far, every 20 of 300 steps; no global state is touched."""
    generator = torch.Generator().manual_seed(0)
    (x, y), (x_test, y_test) = (_rings(400, generator) for _ in range(2))
    weights = [torch.randn(8, 2, generator=generator), torch.zeros(8), torch.randn(8, generator=generator)]
    weights = [weight.requires_grad_() for weight in (*weights, torch.zeros(()))]
    optimizer = torch.optim.Adam(weights, lr=0.05)

    def logits(points: Tensor) -> Tensor:
        W, b, v, c = weights
        return _Sign.apply(points @ W.T + b, window) @ v + c  # type: ignore[no-any-return, no-untyped-call]

    accuracies: list[float] = []
    for step in range(STEPS + 1):
        if step % _EVERY == 0:
            with torch.no_grad():
                accuracies.append(((logits(x_test) > 0) == (y_test > 0.5)).float().mean().item())
            yield list(accuracies)
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(logits(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _rings(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    labels = (torch.arange(count) % 2).float()
    radius = 0.5 + labels + 0.12 * torch.randn(count, generator=generator)
    angle = 2 * torch.pi * torch.rand(count, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels


def draw(*, window: float) -> Iterator[Picture]:
    """One picture after the other while the net trains; one alone where the result is known."""
    if window not in _known:
        accuracies: list[float] = []
        for accuracies in train(window):
            if len(accuracies) % 3 == 1 and len(accuracies) <= STEPS // _EVERY:
                yield _picture(window, accuracies)
        _known[window] = accuracies
    yield _picture(window, _known[window])


def _picture(window: float, accuracies: list[float]) -> Picture:
    fig, (value, slope, learning) = panels(3, width=9.6, height=2.9)
    _draw_surrogate(value, slope, window)
    for other, curve in _known.items():
        if other != window:
            learning.plot(range(0, STEPS + 1, _EVERY), curve, color=TEXT, linewidth=0.7)
    at = (len(accuracies) - 1) * _EVERY
    learning.plot(range(0, at + 1, _EVERY), accuracies, color=COLORS[2], linewidth=2.5)
    learning.plot(at, accuracies[-1], "o", color=COLORS[2])
    learning.set(xlim=(-8, STEPS + 8), ylim=(0.3, 1.05), xlabel="step")
    learning.set_title(f"Accuracy {accuracies[-1]:.2f} " + (f"at step {at}" if at < STEPS else "after training"))
    alt = (
        f"Window: {_name(window)}. Left: the sign and the surrogate line, cut off at the window. Middle: their slopes, "
        f"0 for the sign, 1 inside the window for the surrogate. Right: the test accuracy of a net of signs trained "
        f"with it: {accuracies[-1]:.2f} after {at} steps, from {accuracies[0]:.2f} at the start."
    )
    return Picture(fig, alt)


def _draw_surrogate(value: Any, slope: Any, window: float) -> None:
    edge, width = 2.5, min(window, 2.5)
    ramp = [-edge, -width, width, edge], [-width, -width, width, width]
    for axes in (value, slope):
        axes.axvspan(-width, width, color=COLORS[2], alpha=0.15, linewidth=0)
        axes.set_xlabel("h")
    value.plot([-edge, 0, 0, edge], [-1, -1, 1, 1], color=COLORS[0], linewidth=2.5, label="sign")
    value.plot(*ramp, "--", color=COLORS[1], linewidth=2, label="surrogate")
    value.set(title="Value", ylim=(-2.6, 2.6))
    value.legend(loc="upper left", fontsize=9)
    slope.plot([-edge, edge], [0, 0], color=COLORS[0], linewidth=2.5)
    declared = [0, 0, 1, 1, 0, 0] if width else [0] * 6
    slope.plot([-edge, -width, -width, width, width, edge], declared, "--", color=COLORS[1], linewidth=2)
    slope.set(title="Slope that backward uses", ylim=(-0.2, 1.5), yticks=[0, 1])


def _name(window: float) -> str:
    if window == NO_STE:
        return "none (no STE)"
    return "no limit" if window == float("inf") else f"|h| < {window:g}"
