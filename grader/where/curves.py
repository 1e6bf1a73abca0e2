"""Elementwise operations: the forward, its slope and the learner's gradient over the domain.

The slope is the central difference of the learner's own forward; for a declared surrogate it is the surrogate's. One
constant upstream gradient at a time: 1 first, then one at which a backward that drops, clamps or masks by it shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.battery import PUBLIC_SEED
from grader.contract.bench import Bench
from grader.reproduction import names_of
from grader.subject import Args, Observation, Probe, Subject
from grader.where.model import Line, Mark, Plot, Where, rounded
from grader.where.words import instead, intervals, marks_said, number, runs, setting_said, worst

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["curves", "declared", "differs", "fits"]

POINTS = 161
UPSTREAMS = (1.0, -2.0)
MOST_SETTINGS = 5  # sets of other arguments, tried one after the other until one shows something

Marks = tuple[tuple[Mark, ...], tuple[Mark, ...]]  # of the forward, of the gradient


@dataclass(frozen=True)
class _Setting:
    """Arguments whose tensor at `place` may be replaced by the domain; the others stay."""

    args: Args
    place: int
    low: float
    high: float

    def at(self, x: Tensor) -> Args:
        return (*self.args[: self.place], x, *self.args[self.place + 1 :])

    def grid(self) -> Tensor:
        """Points off the round numbers, where kinks are."""
        return torch.linspace(self.low, self.high, POINTS, dtype=torch.float64) + 1.3e-4 * (self.high - self.low)


@dataclass(frozen=True)
class _Seen:
    """What was seen over the grid, and what it is compared with. `right` is the slope times the upstream."""

    x: Tensor
    y: Tensor
    right_y: Tensor
    yours: Tensor
    right: Tensor
    bad_y: Tensor
    bad: Tensor


def curves(exercise: Exercise, subject: Subject) -> Where | None:
    """Where an elementwise operation of one tensor goes wrong; None where it is none, or nothing differs."""
    for setting in _settings(exercise):
        for upstream in UPSTREAMS:
            seen = _look(exercise, subject, setting, upstream, step=1e-6)
            if seen is None:
                return None
            marks = _marks(exercise, subject, setting) if upstream == 1.0 else ((), ())
            if bool(seen.bad_y.any()) or bool(seen.bad.any()) or any(marks):
                return _where(exercise, setting, upstream, seen, marks)
    return None


# ---- the domain ------------------------------------------------------------------------------------------------------


def _settings(exercise: Exercise) -> Iterator[_Setting]:
    """The main arguments over the domain of the exercise's own samples, then others it is tried with."""
    bench = Bench(exercise, _Nobody, PUBLIC_SEED, "where")
    samples = [bench.generic(str(k)) for k in range(4)] + [s.args for s in bench.variants()]
    # The large sample tells how far the values go that a check may meet.
    samples += [s.args for s in (*exercise.inputs.at_kinks, *bench.large())]
    place = _place(samples[0])
    if place is None or not _pointwise(exercise, samples[0], place):
        return
    groups: list[list[Args]] = []
    for args in (a for a in samples if _place(a) == place):
        mine = next((group for group in groups if _same_rest(group[0], args, place)), None)
        if mine is None:
            groups.append([args])
        else:
            mine.append(args)
    for group in groups[:MOST_SETTINGS]:
        values = torch.cat([a[place].double().flatten() for a in group])
        low, high = float(values.min()), float(values.max())
        margin = 0.15 * (high - low)
        if margin > 0:
            yield _Setting(group[0], place, low - margin, high + margin)


_Nobody: Any = type("_Nobody", (), {"is_function": True})()  # a Bench is only drawn from here


def _place(args: Args) -> int | None:
    """The place of the only tensor among the arguments, if it is of floating point."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
    return places[0] if len(places) == 1 and args[places[0]].is_floating_point() else None


def _same_rest(a: Args, b: Args, place: int) -> bool:
    pairs = enumerate(zip(a, b, strict=False))
    return len(a) == len(b) and all(i == place or (type(x) is type(y) and x == y) for i, (x, y) in pairs)


def _pointwise(exercise: Exercise, args: Args, place: int) -> bool:
    """Whether the reference treats each element by itself."""
    x = args[place].flatten()[:6]
    setting = _Setting(args, place, 0.0, 1.0)
    whole = exercise.reference.forward(*setting.at(x))
    if not isinstance(whole, Tensor) or whole.shape != x.shape:
        return False
    alone = torch.cat([exercise.reference.forward(*setting.at(x[i : i + 1])) for i in range(len(x))])
    return torch.allclose(whole, alone, equal_nan=True)


# ---- what is seen ----------------------------------------------------------------------------------------------------


def _look(exercise: Exercise, subject: Subject, setting: _Setting, upstream: float, *, step: float) -> _Seen | None:
    """Four probes at once; None where one fails, or the answers are not those of an elementwise operation."""
    assert exercise.reference.vjp is not None
    x = setting.grid()
    x = x[torch.isfinite(exercise.reference.forward(*setting.at(x)).double())]
    if len(x) < 10:
        return None
    g = torch.full_like(x, upstream)
    points = (x, x + step, x - step, x[::2].clone())
    asked = [Probe(setting.at(p), upstream=((g,),) if p is x else ()) for p in points]
    seen = subject.observe_each(asked)
    if len(seen) < len(asked) or not all(fits(s, [p]) for s, p in zip(seen, points, strict=True)):
        return None
    y, above, below, some = (s.outputs[0].double() for s in seen)
    exact = seen[0].outputs[0].dtype == torch.float64
    if not exact and step < 1e-3:  # so small a step is lost in low precision
        return _look(exercise, subject, setting, upstream, step=1e-2)
    if differs(y[::2], some, 1e-6).any():
        return None
    given = seen[0].grads[0][setting.place]
    yours = torch.zeros_like(x) if given is None else given.double()
    right_y = exercise.reference.forward(*setting.at(x)).double()
    right = upstream * (above - below) / (2 * step)
    if declared(exercise):
        right = exercise.reference.vjp(g, *setting.at(x))[setting.place].double()
    bad = differs(yours, right, 1e-4 if exact or declared(exercise) else 5e-2)
    return _Seen(x, y, right_y, yours, right, differs(y, right_y, 1e-6 if exact else 1e-3), bad)


def declared(exercise: Exercise) -> bool:
    """Whether the gradient is declared rather than derived from the forward."""
    return exercise.contract.surrogate or exercise.kind == "plain"


def fits(seen: Observation, outputs: list[Tensor]) -> bool:
    """Whether a probe went through and gave tensors of floating point, shaped like these."""
    if seen.failure is not None or len(seen.outputs) != len(outputs):
        return False
    pairs = zip(seen.outputs, outputs, strict=True)
    return all(isinstance(o, Tensor) and o.is_floating_point() and o.shape == like.shape for o, like in pairs)


def differs(yours: Tensor, right: Tensor, tolerance: float) -> Tensor:
    """Where two tensors differ by more than `tolerance`, relative and absolute; NaN equals NaN."""
    return ~torch.isclose(yours, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def _marks(exercise: Exercise, subject: Subject, setting: _Setting) -> Marks:
    """Wrong values exactly at kinks and ties, of the forward and of the gradient; those inside the domain."""
    place = setting.place
    samples = [s.args for s in exercise.inputs.at_kinks if _same_rest(s.args, setting.args, place)]
    forward: list[Mark] = []
    for args, seen in zip(samples, subject.observe_each([Probe(args) for args in samples]), strict=False):
        right = exercise.reference.forward(*args)
        if fits(seen, [right]):
            forward += _differing(setting, args[place], seen.outputs[0], right, right)
    kinks = [k for k in exercise.inputs.kinks if k.index == place and _same_rest(k.args, setting.args, place)]
    asked = [Probe(k.args, upstream=((torch.ones_like(k.low),),)) for k in kinks]
    gradient: list[Mark] = []
    for kink, seen in zip(kinks, subject.observe_each(asked), strict=False):
        if fits(seen, [kink.low]):
            got = seen.grads[0][place]
            gradient += _differing(
                setting, kink.args[place], torch.zeros_like(kink.low) if got is None else got, kink.low, kink.high
            )
    return tuple(forward), tuple(gradient)


def _differing(setting: _Setting, x: Tensor, got: Tensor, low: Tensor, high: Tensor) -> list[Mark]:
    found = []
    for at, y, least, most in zip(*(t.double().flatten().tolist() for t in (x, got, low, high)), strict=True):
        if setting.low <= at <= setting.high and not least - 1e-9 <= y <= most + 1e-9:
            found.append(Mark(at + 0.0, *rounded((y, least, most))))
    return list(dict.fromkeys(found))  # 0 and -0 are one point


# ---- what is told ----------------------------------------------------------------------------------------------------


def _where(exercise: Exercise, setting: _Setting, upstream: float, seen: _Seen, marks: Marks) -> Where:
    x = tuple(v or 0.0 for v in rounded(seen.x.tolist()))
    times = "" if upstream == 1.0 else f"{number(upstream)} times "
    what = f"{times}the declared surrogate slope" if declared(exercise) else f"{times}the slope of your forward"
    lines = [Line("your forward", "yours", rounded(seen.y.tolist()))]
    if bool(seen.bad_y.any()):
        lines.insert(0, Line("expected", "right", rounded(seen.right_y.tolist())))
    slope = what.replace("the ", "") + ("" if declared(exercise) else " (finite differences)")
    gradient = (
        Line(slope, "right", rounded(seen.right.tolist())),
        Line("your gradient", "yours", rounded(seen.yours.tolist())),
    )
    shaded_y, shaded = runs(seen.x, seen.bad_y), runs(seen.x, seen.bad)
    marks = _outside(marks[0], shaded_y), _outside(marks[1], shaded)
    title = f"gradient, upstream {number(upstream)}"
    panels = (
        Plot("forward", "x", x, tuple(lines), shaded_y, marks[0]),
        Plot(title, "x", x, gradient, shaded, marks[1]),
    )
    names = names_of(exercise.reference.forward, setting.args)
    rest = [(n, a) for i, (n, a) in enumerate(zip(names, setting.args, strict=True)) if i != setting.place]
    said = [setting_said(exercise.symbol, seen.x, rest)]
    if shaded_y:
        said.append(_differ("Your forward differs from the expected one", seen.x, seen.y, seen.right_y, seen.bad_y))
    if shaded:
        said.append(_differ(f"Your gradient differs from {what}", seen.x, seen.yours, seen.right, seen.bad))
    said += [marks_said("your forward", marks[0]), marks_said("your gradient", marks[1])]
    return Where(" ".join(filter(None, said)), panels)


def _outside(marks: Sequence[Mark], shaded: Sequence[tuple[float, float]]) -> tuple[Mark, ...]:
    """The points that no shaded interval shows already."""
    return tuple(m for m in marks if not any(low < m.x < high for low, high in shaded))


def _differ(what: str, x: Tensor, yours: Tensor, right: Tensor, bad: Tensor) -> str:
    at = worst(yours, right, bad)
    place = "everywhere" if bool(bad.all()) else f"for x {intervals(runs(x, bad), float(x[1] - x[0]))}"
    return f"{what} {place}, most at x = {number(float(x[at]))}: {instead(float(yours[at]), float(right[at]))}."
