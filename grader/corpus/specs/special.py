"""Operations that ask more of the battery: a learned step size, two outputs, a random output."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.corpus.op import operation
from grader.exercise import Args, Contract
from grader.inputs import Draw, Inputs, Sample, elementwise
from grader.subject import Probe

__all__ = ["EXERCISES"]

# ---- quantization with a learned step size -------------------------------------------------------


def _lsq(x: Tensor, step: Tensor, low: int, high: int) -> Tensor:
    return torch.clamp(torch.round(x / step), low, high) * step


def _lsq_vjp(g: Tensor, x: Tensor, step: Tensor, low: int, high: int) -> Args:
    """Rounding passes the gradient on as it is; beyond the range x gets none, the step the bound's code."""
    code = x / step
    inside = ((code >= low) & (code <= high)).to(g.dtype)
    by_step = inside * (torch.round(code) - code) + (code < low) * low + (code > high) * high
    return g * inside, (g * by_step).sum(), None, None


def _codes(draw: Draw, *shape: int, step: float, low: int, high: int) -> Args:
    """x on both sides of the range and inside, at least 0.15 steps away from every rounding tie and bound."""
    code = torch.tensor([draw.integer(low - 3, high + 3) for _ in range(torch.Size(shape).numel())]).double()
    code[:3] = torch.tensor([low - 2, (low + high) // 2, high + 2])
    part = draw.uniform(*code.shape, low=0.15, high=0.35) * draw.pick((-1.0, 1.0))
    return ((code + part) * step).reshape(shape), torch.tensor(step, dtype=torch.float64), low, high


lsq = operation(
    "lsq",
    _lsq,
    _lsq_vjp,
    Inputs(
        generic=lambda draw: _codes(draw, *draw.shape(2), step=0.25, low=-4, high=3),
        small=lambda draw: _codes(draw, 2, 3, step=0.25, low=-4, high=3),
        variants=lambda draw: [
            Sample("a fine step", _codes(draw, 4, 5, step=0.1, low=-8, high=7)),
            Sample("an unsigned range", _codes(draw, 4, 5, step=0.5, low=0, high=3)),
        ],
    ),
    contract=Contract(surrogate=True, second_order="ignored"),
)

# ---- two outputs ---------------------------------------------------------------------------------

sincos = operation(
    "sincos",
    lambda x: (torch.sin(x), torch.cos(x)),
    lambda g, x: (g[0] * torch.cos(x) - g[1] * torch.sin(x),),
    elementwise(),
    outputs=2,
)

# ---- a random output -----------------------------------------------------------------------------


@check("dropped_or_scaled", stage="forward")
def dropped_or_scaled(bench: Bench) -> None:
    """Catches outputs that are neither 0 nor x / (1 - p), and a share of zeros that is not about p. Cannot see
    whether the draws are independent."""
    for p in (0.5, 0.2, 0.0):
        x = bench.draw(str(p)).normal(20, 30, off=(0.0,))
        output = bench.observe(Probe((x, p)), where=f"p = {p}").output
        dropped = output == 0
        if output.shape != x.shape or not bool((dropped | torch.isclose(output, x / (1 - p), rtol=1e-9)).all()):
            raise Failed(f"For p = {p} some outputs are neither 0 nor x / (1 - p).", look="the scale of what is kept.")
        # Six standard deviations of a binomial share: a right implementation misses them once in 10^9 runs.
        if abs(float(dropped.double().mean()) - p) > 6 * (p * (1 - p) / x.numel()) ** 0.5:
            raise Failed(f"For p = {p} the share of zeros is {float(dropped.double().mean()):.3f}.")


@check("same_mask", stage="gradient")
def same_mask(bench: Bench) -> None:
    """Catches a gradient through another mask than the output's: a fresh draw in backward, a forgotten scale.
    The mask is read off the output, and each of two backward passes must have used it. Cannot see how the mask
    was drawn."""
    for p, layout in ((0.5, "contiguous"), (0.2, "expanded"), (0.5, "transposed")):
        x = bench.draw(str(p)).normal(4, 5, off=(0.0,))
        g = bench.draw("upstream").normal(4, 5, off=(0.0,))
        given = torch.full_like(g, float(g[0, 0])) if layout == "expanded" else g
        probe = Probe((x, p), upstream=((given,), (given,)), upstream_layout=layout)  # type: ignore[arg-type]
        seen = bench.observe(probe, where=f"p = {p}")
        right = given * (seen.output != 0) / (1 - p)
        for grads in seen.grads:
            bench.compare(
                grads,
                (right, None),
                where=f"p = {p}",
                cause="backward does not use the mask, or not the scale, that forward used.",
            )


def _kept(draw: Draw, *shape: int, p: float = 0.5) -> Args:
    return draw.normal(*shape, off=(0.0,)), p


dropout = operation(
    "dropout",
    lambda x, p: x.clone(),  # stands for the shape alone: what is dropped is random
    lambda g, x, p: (g.clone(), None),
    Inputs(
        generic=lambda draw: _kept(draw, *draw.shape(2)),
        variants=lambda draw: [
            Sample("p = 0.2", _kept(draw, 3, 4, p=0.2)),
            Sample("p = 0", _kept(draw, 7, p=0.0)),
        ],
    ),
    contract=Contract(random=True, second_order="ignored"),
    checks=(dropped_or_scaled, same_mask),
)

EXERCISES = (lsq, sincos, dropout)
