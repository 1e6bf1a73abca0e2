"""Honest inputs: seeded samples that can tell a right Function from a wrong one.

An `Inputs` holds generators. Each takes a `Draw` (a seeded source of tensors) and gives argument tuples in
float64; the checks cast, freeze or re-stride them. Helpers at the end build the whole set for common kinds
of operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["LARGE", "Draw", "Inputs", "Kink", "Sample", "elementwise"]

Args = tuple[Any, ...]
LARGE = (257, 173)  # more elements than 16 bits count, and no power of two


class Draw:
    """Seeded random tensors. The same seed gives the same tensors, whatever torch's global generator did.

    normal(*shape)        standard normal float64, every element at least `gap` away from each point in `off`
    size() / sizes(n)     small sizes from 2 to 5, `sizes` all different
    shape(ndim)           a shape of `ndim` different sizes
    pick(options)         one of the options
    """

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed % (2**63))

    def normal(
        self, *shape: int, scale: float = 1.0, shift: float = 0.0, off: Sequence[float] = (), gap: float = 0.1
    ) -> Tensor:
        x = torch.randn(shape, generator=self.generator, dtype=torch.float64) * scale + shift
        return push_away(x, off, gap)

    def uniform(
        self, *shape: int, low: float = 0.0, high: float = 1.0, off: Sequence[float] = (), gap: float = 0.1
    ) -> Tensor:
        x = torch.rand(shape, generator=self.generator, dtype=torch.float64) * (high - low) + low
        return push_away(x, off, gap)

    def integer(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def size(self) -> int:
        return self.integer(2, 5)

    def sizes(self, count: int) -> tuple[int, ...]:
        return tuple(int(n) + 2 for n in torch.randperm(max(4, count), generator=self.generator)[:count])

    def shape(self, ndim: int) -> tuple[int, ...]:
        return self.sizes(ndim)

    def pick(self, options: Sequence[Any]) -> Any:
        return options[self.integer(0, len(options) - 1)]


def push_away(x: Tensor, points: Sequence[float], gap: float) -> Tensor:
    """x with every element closer than `gap` to a point moved to 1.5 gap from it, on the side it was on."""
    for point in points:
        side = torch.where(x >= point, 1.0, -1.0).to(x.dtype)
        x = torch.where((x - point).abs() < gap, point + 1.5 * gap * side, x)
    return x


def on_every_piece(draw: Draw, x: Tensor, points: Sequence[float], gap: float = 0.15) -> Tensor:
    """x with an element on each of the pieces that the points cut the line into, where x has elements enough.

    Without it a small sample may lie on one side of a kink, and what is wrong on the other would be accepted.
    """
    ends = sorted(points)
    pieces = list(
        zip([ends[0] - 2.0, *(e + gap for e in ends)], [*(e - gap for e in ends), ends[-1] + 2.0], strict=True)
    )
    if x.numel() < len(pieces):
        return x
    inside = [low + (high - low) * float(draw.uniform(low=0.05, high=0.95)) for low, high in pieces]
    flat = x.flatten()
    flat[torch.randperm(x.numel(), generator=draw.generator)[: len(inside)]] = torch.tensor(inside, dtype=x.dtype)
    return flat.reshape(x.shape)


@dataclass(frozen=True)
class Sample:
    """Arguments with a name a message can use ("a 0-d tensor", "bias=None")."""

    name: str
    args: Args


@dataclass(frozen=True)
class Kink:
    """A point where the derivative is an interval: `low <= d <= high` elementwise for d in y = op(x),
    upstream ones.

    `index` says which argument is at the kink. Equal bounds where the exercise states the value.
    """

    args: Args
    low: Tensor
    high: Tensor
    index: int = 0


def nothing(_: Draw) -> Iterable[Sample]:
    return ()


@dataclass(frozen=True)
class Inputs:
    """The input generators of one exercise.

    generic    one honest sample: float64, both signs, unequal sizes, away from kinks. Called with fresh draws.
    small      the same with about 4 to 12 elements, for gradcheck; `generic` where None
    variants   other arguments, ranks, shapes, broadcastings
    edges      0-d, one element, empty
    kinks      points with an interval of legal derivatives
    at_kinks   samples whose *forward* value is stated exactly, at kinks, ties and rounding points
    extreme    magnitudes at which the reference is finite but a careless formula is not (values compared in float64)
    large      one sample with more elements than blocks, buffers and small integers hold; None: no matter
    nonfinite  NaN and infinities whose propagation by the forward is compared with the reference
    """

    generic: Callable[[Draw], Args]
    small: Callable[[Draw], Args] | None = None
    variants: Callable[[Draw], Iterable[Sample]] = nothing
    edges: Callable[[Draw], Iterable[Sample]] = nothing
    kinks: tuple[Kink, ...] = ()
    at_kinks: tuple[Sample, ...] = ()
    extreme: tuple[Sample, ...] = ()
    nonfinite: tuple[Sample, ...] = ()
    large: Callable[[Draw], Args] | None = None


def elementwise(
    *extras: Args,
    off: Callable[..., Sequence[float]] | Sequence[float] = (),
    scale: float = 1.5,
    kinks: tuple[Kink, ...] = (),
    at_kinks: Sequence[Sequence[float]] = (),
    extreme: Sequence[float] = (),
    nonfinite: Sequence[float] = (),
) -> Inputs:
    """Inputs of an elementwise operation op(x, *extra): x of any shape.

    extras     the further arguments to try, the first of which is the main one (none: the operation takes x alone)
    off        points to stay away from by 0.1, or a function of the extra arguments that gives them
    at_kinks   values of x at which the forward is compared exactly; extreme and nonfinite likewise
    """
    choices = extras or ((),)

    def x(draw: Draw, *shape: int, extra: Args = choices[0], shift: float = 0.0) -> Args:
        points = tuple(filter(math.isfinite, off(*extra) if callable(off) else off))
        values = draw.normal(*shape, scale=scale, shift=shift, off=points)
        return (on_every_piece(draw, values, points or (0.0,)), *extra)

    def variants(draw: Draw) -> Iterable[Sample]:
        yield Sample("a vector", x(draw, 7))
        yield Sample("a tensor of three dimensions", x(draw, *draw.shape(3)))
        for extra in choices[1:]:
            yield Sample(f"arguments {', '.join(map(str, extra))}", x(draw, *draw.shape(2), extra=extra))

    def edges(draw: Draw) -> Iterable[Sample]:
        for _ in range(2):
            yield Sample("a 0-d tensor", x(draw))
        yield Sample("a tensor of one element", x(draw, 1, 1))
        yield Sample("an empty tensor", x(draw, 0, 3))

    def fixed(name: str, values: Sequence[float], extra: Args) -> Sample:
        return Sample(name, (torch.tensor(values, dtype=torch.float64), *extra))

    return Inputs(
        generic=lambda draw: x(draw, *draw.shape(2), extra=choices[0]),
        small=lambda draw: x(draw, 3),
        large=lambda draw: x(draw, *LARGE, shift=-0.3),  # more negative than positive ones
        variants=variants,
        edges=edges,
        kinks=kinks,
        at_kinks=tuple(fixed("values at the kinks", v, choices[0]) for v in at_kinks),
        extreme=(fixed("extreme magnitudes", extreme, choices[0]),) if extreme else (),
        nonfinite=(fixed("NaN and infinities", nonfinite, choices[0]),) if nonfinite else (),
    )
