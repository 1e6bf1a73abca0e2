"""Operations on one tensor, element by element."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from grader.corpus.op import operation, vector
from grader.inputs import Kink, elementwise

__all__ = ["EXERCISES"]

FAR = (-800.0, -100.0, -40.0, -6.0, 0.0, 6.0, 40.0, 100.0, 800.0)


def _sigmoid(x: Tensor) -> Tensor:
    small = torch.exp(-x.abs())
    return torch.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _slope_of_swish(x: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return s + x * s * (1 - s)


def _power_vjp(g: Tensor, x: Tensor, n: int) -> tuple[Tensor, None]:
    return (g * n * x ** (n - 1) if n else torch.zeros_like(g)), None


clipped_relu = operation(
    "clipped_relu",
    lambda x, cap: torch.where(x <= 0, 0.0, torch.where(x >= cap, cap, x)),
    lambda g, x, cap: (torch.where((x > 0) & (x < cap), g, 0.0), None),
    elementwise(
        (1.0,),
        (6.0,),
        (0.5,),
        off=lambda cap: (0.0, cap),
        kinks=(Kink((vector(0, 1, -1, 0.5, 2), 1.0), low=vector(0, 0, 0, 1, 0), high=vector(1, 1, 0, 1, 0)),),
        nonfinite=(math.nan, 1.5, -1.0),
    ),
)
absolute = operation(
    "abs",
    lambda x: torch.where(x < 0, -x, x),
    lambda g, x: (torch.where(x < 0, -g, g),),
    elementwise(
        off=(0.0,),
        kinks=(Kink((vector(0, -1, 2),), low=vector(-1, -1, 1), high=vector(1, -1, 1)),),
        nonfinite=(math.nan, math.inf, -math.inf),
    ),
)
square = operation(
    "square",
    lambda x: x * x,
    lambda g, x: (2 * x * g,),
    elementwise(kinks=(Kink((vector(0, 1),), low=vector(0, 2), high=vector(0, 2)),)),
)
power = operation(
    "power",
    lambda x, n: x**n,
    _power_vjp,
    elementwise(
        (3,),
        (2,),
        (1,),
        (0,),
        (-1,),
        off=lambda n: (0.0,) if n < 0 else (),
        kinks=(
            Kink((vector(0, 1, -2), 3), low=vector(0, 3, 12), high=vector(0, 3, 12)),
            Kink((vector(0, 1, -2), 0), low=vector(0, 0, 0), high=vector(0, 0, 0)),
        ),
    ),
)
tanh = operation(
    "tanh",
    torch.tanh,
    lambda g, x: (g * (1 - torch.tanh(x) ** 2),),
    elementwise(extreme=(-800.0, 800.0, 20.0, -20.0), nonfinite=(math.nan, math.inf, -math.inf)),
)
reciprocal = operation(
    "reciprocal",
    lambda x: 1 / x,
    lambda g, x: (-g / (x * x),),
    elementwise(off=(0.0,), extreme=(1e30, -1e30)),
)
sigmoid = operation(
    "sigmoid",
    _sigmoid,
    lambda g, x: (g * torch.sigmoid(x) * torch.sigmoid(-x),),
    elementwise(scale=2.0, extreme=FAR, nonfinite=(math.nan, math.inf, -math.inf)),
)
softplus = operation(
    "softplus",
    lambda x: torch.where(x > 0, x, 0.0) + torch.log1p(torch.exp(-x.abs())),
    lambda g, x: (g * torch.sigmoid(x),),
    elementwise(scale=2.0, extreme=FAR),
)
# The course's swish has a memory budget; here whatever backward keeps is right.
swish = operation(
    "swish",
    lambda x: x * _sigmoid(x),
    lambda g, x: (g * _slope_of_swish(x),),
    elementwise(scale=2.0, extreme=FAR),
)
np_sin = operation("np_sin", torch.sin, lambda g, x: (g * torch.cos(x),), elementwise())
sp_erf = operation(
    "sp_erf",
    torch.erf,
    lambda g, x: (g * (2 / math.sqrt(math.pi)) * torch.exp(-x * x),),
    elementwise(extreme=(-40.0, 40.0, 3.0, -3.0)),
)

EXERCISES = (
    clipped_relu,
    absolute,
    square,
    power,
    tanh,
    reciprocal,
    sigmoid,
    softplus,
    swish,
    np_sin,
    sp_erf,
)
