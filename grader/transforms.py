"""Misconceptions derived from an exercise's reference: the right vector-Jacobian product, spoilt in a
classic way.

Each transform says what it does to the right gradients and the sentence its author needs to hear. One that
changes nothing for an exercise (the identity where the identity is right), or behaves as a misconception
written by hand, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import hardtanh

from grader.exercise import Exercise, Misconception
from grader.outline import outlines

__all__ = ["TRANSFORMS", "Transform", "derived_misconceptions", "found_out"]

Vjp = Callable[..., tuple[Any, ...]]
Spoil = Callable[[Vjp, Any, tuple[Any, ...]], Any]
Keep = Callable[[Callable[..., Any], Vjp], type[Function]]


def _saved(forward: Callable[..., Any], vjp: Vjp) -> type[Function]:
    """Inputs kept as they should be."""

    class Saved(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
            ctx.plain = [None if isinstance(a, Tensor) else a for a in args]
            return forward(*args)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            args = tuple(p if s is None else s for s, p in zip(ctx.saved_tensors, ctx.plain, strict=True))
            return vjp(g, *args)

    return Saved


def _on_ctx(forward: Callable[..., Any], vjp: Vjp) -> type[Function]:
    class KeptOnCtx(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.kept = args
            return forward(*args)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return vjp(g, *ctx.kept)

    return KeptOnCtx


def _on_class(forward: Callable[..., Any], vjp: Vjp) -> type[Function]:
    class KeptOnClass(Function):
        kept: tuple[Any, ...] = ()

        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            KeptOnClass.kept = args
            return forward(*args)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return vjp(g, *KeptOnClass.kept)

    return KeptOnClass


@dataclass(frozen=True)
class Transform:
    """A way to spoil the reference.

    spoil    makes the wrong gradients from the right VJP
    keep     makes the Function from a forward and a VJP, and says where the inputs are kept between the two
    values   the mistake shows in the gradient's values (else in how it is done)
    """

    id: str
    sentence: str
    spoil: Spoil
    keep: Keep = _saved
    values: bool = True
    applies: Callable[[Exercise], bool] = lambda _: True

    def function(self, forward: Callable[..., Any], vjp: Vjp) -> type[Function]:
        """The Function with this forward and the spoilt gradient."""
        return self.keep(forward, lambda g, *args: self.spoil(vjp, g, args))


def _right(vjp: Vjp, g: Any, args: tuple[Any, ...]) -> Any:
    return vjp(g, *args)


def _map(function: Callable[[Tensor], Any]) -> Spoil:
    return lambda vjp, g, args: tuple(function(d) if isinstance(d, Tensor) else d for d in vjp(g, *args))


def _with_upstream(function: Callable[[Tensor], Tensor]) -> Spoil:
    return lambda vjp, g, args: vjp(function(g), *args)


def _identity(vjp: Vjp, g: Tensor, args: tuple[Any, ...]) -> Any:
    right = vjp(g, *args)
    return (g, *right[1:])


def _swapped(vjp: Vjp, g: Tensor, args: tuple[Any, ...]) -> Any:
    right = list(vjp(g, *args))
    first, second = [i for i, d in enumerate(right) if isinstance(d, Tensor)][:2]
    right[first], right[second] = right[second], right[first]
    return tuple(right)


def _in_place(vjp: Vjp, g: Tensor, args: tuple[Any, ...]) -> Any:
    right = vjp(g, *args)
    if isinstance(right[0], Tensor) and right[0].shape == g.shape:
        return (g.copy_(right[0]), *right[1:])
    return right


def _detached(vjp: Vjp, g: Tensor, args: tuple[Any, ...]) -> Any:
    with torch.no_grad():
        return vjp(g, *args)


def _gradient_for_number(vjp: Vjp, g: Tensor, args: tuple[Any, ...]) -> Any:
    return tuple(
        g.sum() if d is None and not isinstance(a, Tensor) else d for d, a in zip(vjp(g, *args), args, strict=True)
    )


def _tensors(exercise: Exercise) -> int:
    from grader.inputs import Draw

    return sum(isinstance(a, Tensor) and a.is_floating_point() for a in exercise.inputs.generic(Draw(0)))


def _has_numbers(exercise: Exercise) -> bool:
    from grader.inputs import Draw

    return any(isinstance(a, (int, float)) for a in exercise.inputs.generic(Draw(0)))


def _keeps_inputs(exercise: Exercise) -> bool:
    """Whether the right gradient depends on the inputs, so that where they are kept matters."""
    from grader.inputs import Draw

    assert exercise.reference.vjp is not None
    make = exercise.inputs.generic
    args = make(Draw(1))
    other = tuple(-2.0 * a + 0.3 if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)
    g = torch.ones_like(exercise.reference.forward(*args))
    mine, theirs = exercise.reference.vjp(g, *args), exercise.reference.vjp(g, *other)
    return any(isinstance(a, Tensor) and not torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))


def _gradient_fits_upstream(exercise: Exercise) -> bool:
    """Whether the first gradient has the shape of the output, so that it could be written into the upstream one."""
    from grader.inputs import Draw

    args = exercise.inputs.generic(Draw(0))
    return isinstance(args[0], Tensor) and args[0].shape == exercise.reference.forward(*args).shape


def _twice_differentiable(exercise: Exercise) -> bool:
    return exercise.contract.second_order != "ignored"


TRANSFORMS: tuple[Transform, ...] = (
    Transform(
        "no_upstream",
        "Your backward returns the local derivative but forgets grad_output. Autograd hands you dL/dy and "
        "wants dL/dx: the "
        "chain rule needs both factors.",
        _with_upstream(torch.ones_like),
    ),
    Transform("sign_flipped", "Your gradient has the right size and the wrong sign.", _map(torch.neg)),
    Transform(
        "doubled",
        "Your gradient is exactly twice as large as it should be: a constant factor has crept in.",
        _map(lambda d: 2 * d),
    ),
    Transform(
        "halved",
        "Your gradient is exactly half as large as it should be: a constant factor got lost.",
        _map(lambda d: d / 2),
    ),
    Transform(
        "zeros",
        "Your backward returns zeros (or None): nothing that comes before this Function would ever learn.",
        _map(torch.zeros_like),
    ),
    Transform(
        "identity",
        "Your backward hands grad_output on unchanged, as if the operation were y = x.",
        _identity,
    ),
    Transform(
        "summed_upstream",
        "You sum grad_output before using it. Each element of the output has its own upstream gradient.",
        _with_upstream(lambda g: g.sum().expand(g.shape)),
    ),
    Transform(
        "clamped_upstream",
        "You clip the values of grad_output. A backward is linear in grad_output: whatever limits the "
        "gradient must come from "
        "the inputs, never from the size of the gradient itself.",
        _with_upstream(hardtanh),
    ),
    Transform(
        "abs_upstream",
        "You use the absolute value of grad_output, so negative upstream gradients come out with the wrong sign.",
        _with_upstream(torch.abs),
    ),
    Transform(
        "sign_of_upstream",
        "You use only the sign of grad_output and lose its size.",
        _with_upstream(torch.sign),
    ),
    Transform(
        "swapped",
        "Two of your gradients have changed places: backward returns them in the order of forward's arguments.",
        _swapped,
        applies=lambda e: _tensors(e) >= 2,
    ),
    Transform(
        "too_few_gradients",
        "backward must return one value for every argument of forward, also for those that are no tensors.",
        lambda vjp, g, args: vjp(g, *args)[:-1],
        applies=lambda e: _tensors(e) >= 1 and _has_numbers(e),
    ),
    Transform(
        "gradient_for_number",
        "You return a gradient for an argument that is a plain number; autograd has nowhere to put it.",
        _gradient_for_number,
        applies=_has_numbers,
    ),
    Transform(
        "single_precision",
        "Somewhere in backward the numbers pass through float32, so a float64 gradient loses half its digits.",
        _map(lambda d: d.float().to(d.dtype)),
    ),
    Transform(
        "in_place_upstream",
        "Your backward writes its result into grad_output itself. That tensor is not yours: other branches "
        "of the graph read "
        "it too.",
        _in_place,
        values=False,
        applies=_gradient_fits_upstream,
    ),
    Transform(
        "detached",
        "The first derivative is right, but your backward cuts the graph (no_grad, detach, .data or NumPy), "
        "so the second one "
        "is silently wrong.",
        _detached,
        values=False,
        applies=_twice_differentiable,
    ),
    Transform(
        "kept_on_ctx",
        "You store an input as an attribute of ctx. Autograd cannot watch it there: if somebody edits the "
        "tensor in place, your gradient is silently wrong. Tensors for backward have a place of their own.",
        _right,
        keep=_on_ctx,
        values=False,
        applies=_keeps_inputs,
    ),
    Transform(
        "kept_on_class",
        "What backward needs is kept on the class (or in a global), so a second call overwrites what the "
        "first one saved. Only ctx belongs to one call.",
        _right,
        keep=_on_class,
        values=False,
        applies=_keeps_inputs,
    ),
)


def derived_misconceptions(exercise: Exercise) -> tuple[Misconception, ...]:
    """The misconceptions that follow from the exercise's reference; none for plain functions.

    Which they are the outline says for the course's own exercises; of others it is found out.
    """
    return _derived(exercise, len(exercise.written_misconceptions))


@lru_cache(maxsize=256)
def _derived(exercise: Exercise, _written: int) -> tuple[Misconception, ...]:
    from grader.exercises import catalogue

    outline = outlines().get(exercise.id) if catalogue().get(exercise.id) is exercise else None
    if outline is None:
        return found_out(exercise)
    return tuple(m for m in _possible(exercise) if m.id in outline.mistakes)


def found_out(exercise: Exercise) -> tuple[Misconception, ...]:
    """Those whose values differ from the right ones, from those of the written misconceptions and from each other's."""
    from grader.battery import PUBLIC_SEED
    from grader.diagnosis import behaviour, right_behaviour, same_behaviour
    from grader.local import LocalSubject

    found, possible = [], _possible(exercise)
    if not possible:
        return ()
    seen = [right_behaviour(exercise, PUBLIC_SEED)]
    seen += [behaviour(exercise, LocalSubject(m.thing), PUBLIC_SEED) for m in exercise.written_misconceptions]
    by_values = {transform.id for transform in TRANSFORMS if transform.values}
    for misconception in possible:
        if misconception.id in by_values:
            mine = behaviour(exercise, LocalSubject(misconception.thing), PUBLIC_SEED)
            if any(same_behaviour(mine, other) for other in seen):
                continue
            seen.append(mine)
        found.append(misconception)
    return tuple(found)


def _possible(exercise: Exercise) -> list[Misconception]:
    """Every transform that makes sense for the exercise and is not written out for it."""
    reference = exercise.reference
    if exercise.kind != "function" or reference.vjp is None or exercise.outputs > 1 or exercise.contract.random:
        return []
    taken = {m.id for m in exercise.written_misconceptions} | set(exercise.not_derived)
    return [
        Misconception(t.id, t.function(reference.forward, reference.vjp), None, t.sentence)
        for t in TRANSFORMS
        if t.id not in taken and t.applies(exercise)
    ]
