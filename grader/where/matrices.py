"""Operations between elements: Jacobians side by side; plain functions: expected and given values side by side.

The numeric Jacobian is that of the learner's own forward, by central differences; for a declared surrogate the rows
are the surrogate's. The learner's is found row by row, with an upstream gradient of a single 1 (then of a single -2,
divided by it again, at which a backward that drops or clamps the upstream shows).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.battery import PUBLIC_SEED
from grader.contract.bench import Bench
from grader.reproduction import names_of
from grader.subject import Args, Probe, Subject
from grader.where.curves import declared, differs, fits
from grader.where.model import Grid, Where, rounded
from grader.where.words import instead, listed, number, worst

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["jacobians", "values"]

MOST_ROWS, MOST_COLUMNS, MOST_PROBED = 24, 24, 48
FEW = 12  # columns up to which every argument is shown, not only those that differ
STEP = 1e-6
NOISE = 1e-8  # a finite difference below it is a zero


def jacobians(exercise: Exercise, subject: Subject) -> Where | None:
    """Where a Function's Jacobian, or already its forward, goes wrong; None where it is too large, or does not."""
    args = Bench(exercise, subject, PUBLIC_SEED, "where").generic(small=True)
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point()]
    right = [o for o in _tuple(exercise.reference.forward(*args)) if isinstance(o, Tensor)]
    rows, columns = sum(o.numel() for o in right), sum(args[i].numel() for i in places)
    if not (rows * columns > 1 and rows <= MOST_ROWS and columns <= MOST_PROBED):
        return None
    forward = subject.observe(Probe(args))
    if not fits(forward, right) or any(o.dtype != torch.float64 for o in forward.outputs):
        return None
    for name, mine, expected in zip(_output_names(right), forward.outputs, right, strict=True):
        if differs(mine, expected, 1e-6).any():
            return _side_by_side(f"the output {name}", mine, expected)
    numeric = None if declared(exercise) else _numeric(subject, args, places, right)
    for size in (1.0, -2.0):
        found = _compared(exercise, subject, args, places, right, numeric, size)
        if found is not None:
            return found
    return None


def _compared(
    exercise: Exercise,
    subject: Subject,
    args: Args,
    places: Sequence[int],
    outputs: Sequence[Tensor],
    numeric: Tensor | None,
    size: float,
) -> Where | None:
    """The picture of both Jacobians where they differ with upstream gradients of this size."""
    assert exercise.reference.vjp is not None
    upstreams = list(_one_by_one(outputs, size))
    seen = subject.observe_each([Probe(args, upstream=(g,)) for g in upstreams])
    if len(seen) < len(upstreams) or not all(fits(s, list(outputs)) for s in seen):
        return None
    yours = torch.stack([_row(s.grads[0], args, places) for s in seen]) / size
    if numeric is None:
        given = [exercise.reference.vjp(g if len(g) > 1 else g[0], *args) for g in upstreams]
        right = torch.stack([_row(grads, args, places) for grads in given]) / size
    else:
        right = numeric
    bad = differs(yours, right, 1e-4)
    if not bad.any():
        return None
    names = names_of(exercise.reference.forward, args)
    blocks = [_labels(names[i], args[i]) for i in places]
    labels = [label for block in blocks for label in block]
    kept = _columns([len(block) for block in blocks], bad)
    if not kept:
        return None
    rows = [label for name, o in zip(_output_names(outputs), outputs, strict=True) for label in _labels(name, o)]
    source = "declared surrogate" if numeric is None else "finite differences"
    at = worst(yours, right, bad)
    i, j = divmod(at, yours.shape[1])
    shown_names = list(dict.fromkeys(labels[k].partition("[")[0] for k in kept))
    said = (
        f"The Jacobian of {exercise.symbol}, a row for each element of the output, a column for each of "
        f"{listed(shown_names)}: {source} beside your backward, and the difference. "
        f"{int(bad.sum())} of {bad.numel()} entries differ, most d{rows[i]}/d{labels[j]}: "
        f"{instead(float(yours[i, j]), float(right[i, j]))}."
    )
    if size != 1.0:
        said += f" Each row of yours comes from an upstream gradient of {number(size)}, divided by it again."
    shown = [labels[k] for k in kept]
    named = (
        (source, right.where(right.abs() > NOISE, 0.0)),
        ("your backward", yours),
        ("difference", _gap(yours, right, bad)),
    )
    return Where(said, tuple(_grid(title, rows, shown, m[:, kept]) for title, m in named))


def _numeric(subject: Subject, args: Args, places: Sequence[int], outputs: Sequence[Tensor]) -> Tensor:
    """The Jacobian by central differences, all its probes in one request."""
    asked = [Probe(moved) for place in places for moved in _moved(args, place)]
    seen = subject.observe_each(asked)
    if len(seen) < len(asked) or not all(fits(s, list(outputs)) for s in seen):
        raise ValueError("the forward does not go through beside the point")
    flat = [torch.cat([o.flatten() for o in s.outputs]) for s in seen]
    return torch.stack([(a - b) / (2 * STEP) for a, b in zip(flat[::2], flat[1::2], strict=True)], dim=1)


def _moved(args: Args, place: int) -> Iterator[Args]:
    """The arguments with one element of the tensor at `place` a step up, then a step down, element by element."""
    for index in range(args[place].numel()):
        for step in (STEP, -STEP):
            moved = args[place].clone(memory_format=torch.contiguous_format)
            moved.view(-1)[index] += step
            yield (*args[:place], moved, *args[place + 1 :])


def _one_by_one(outputs: Sequence[Tensor], size: float) -> Iterator[tuple[Tensor, ...]]:
    """Upstream gradients with one element of `size` and zeros elsewhere, for each element of the outputs."""
    for index, output in enumerate(outputs):
        for k in range(output.numel()):
            one = torch.zeros(output.numel(), dtype=output.dtype)
            one[k] = size
            yield tuple(one.reshape(o.shape) if i == index else torch.zeros_like(o) for i, o in enumerate(outputs))


def _row(grads: Sequence[Any], args: Args, places: Sequence[int]) -> Tensor:
    parts = [torch.zeros_like(args[i]) if grads[i] is None else grads[i] for i in places]
    return torch.cat([part.double().flatten() for part in parts])


def _columns(sizes: Sequence[int], bad: Tensor) -> list[int]:
    """The columns to show: all if they are few, else those of the arguments that differ, if they fit."""
    if sum(sizes) <= FEW:
        return list(range(sum(sizes)))
    kept: list[int] = []
    start = 0
    for size in sizes:
        block = range(start, start + size)
        if bad[:, list(block)].any() and len(kept) + size <= MOST_COLUMNS:
            kept += block
        start += size
    return kept


# ---- plain functions -------------------------------------------------------------------------------------------------


def values(exercise: Exercise, subject: Subject) -> Where | None:
    """Where a plain function's tensor differs from the expected one; None where no tensor of fitting shape does."""
    bench = Bench(exercise, subject, PUBLIC_SEED, "where")
    samples = [bench.generic(), bench.generic("1"), *(s.args for s in bench.variants()[:4])]
    for args in samples:
        if not any(isinstance(a, Tensor) and a.is_floating_point() for a in args):
            return None
        right = _tuple(exercise.reference.forward(*args))
        if not any(_comparable(one, one) for one in right):
            return None
        seen = subject.call(args)
        if seen.failure is not None or len(seen.outputs) != len(right):
            return None
        for index, (mine, expected) in enumerate(zip(seen.outputs, right, strict=True)):
            if _comparable(mine, expected) and differs(mine.double(), expected.double(), 1e-6).any():
                name = "the result" if len(right) == 1 else f"result {index + 1} of {len(right)}"
                return _side_by_side(name, mine.double(), expected.double())
    return None


def _comparable(mine: Any, expected: Any) -> bool:
    if not (isinstance(mine, Tensor) and isinstance(expected, Tensor) and mine.shape == expected.shape):
        return False
    return mine.is_floating_point() and mine.numel() > 1


def _side_by_side(what: str, mine: Tensor, right: Tensor) -> Where | None:
    if not 1 <= right.dim() <= 2 or max(right.shape) > MOST_ROWS:
        return None
    width = right.shape[-1]
    mine, right = mine.reshape(-1, width), right.reshape(-1, width)
    bad = differs(mine, right, 1e-6)
    i, j = divmod(worst(mine, right, bad), right.shape[1])
    said = (
        f"{what[0].upper()}{what[1:]}: expected beside yours, and the difference. {int(bad.sum())} of {bad.numel()} "
        f"elements differ, most in row {i}, column {j}: "
        f"{instead(float(mine[i, j]), float(right[i, j]))}."
    )
    rows, columns = ([str(k) for k in range(n)] for n in right.shape)
    named = ("expected", right), ("yours", mine), ("difference", _gap(mine, right, bad))
    return Where(said, tuple(_grid(title, rows, columns, m) for title, m in named))


def _gap(yours: Tensor, right: Tensor, bad: Tensor) -> Tensor:
    """By how much they differ; exactly 0 where they count as equal."""
    return (yours - right).where(bad, torch.zeros(()).double())


def _grid(title: str, rows: Sequence[str], columns: Sequence[str], matrix: Tensor) -> Grid:
    return Grid(title, tuple(rows), tuple(columns), tuple(rounded(row) for row in matrix.tolist()))


def _labels(name: str, tensor: Tensor) -> list[str]:
    """x[0,1] for each element; x alone for a tensor of one number."""
    places = torch.cartesian_prod(*(torch.arange(n) for n in tensor.shape)) if tensor.dim() else None
    if places is None:
        return [name]
    return [f"{name}[{','.join(map(str, p))}]" for p in places.reshape(-1, tensor.dim()).tolist()]


def _output_names(outputs: Sequence[Tensor]) -> list[str]:
    return ["y"] if len(outputs) == 1 else [f"y{k + 1}" for k in range(len(outputs))]


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
