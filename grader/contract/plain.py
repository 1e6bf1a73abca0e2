"""The check of plain functions: the same value as the reference on every sample, arguments left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check, failed_call
from grader.contract.difference import difference
from grader.subject import edited

if TYPE_CHECKING:
    from grader.exercise import Exercise


def is_plain(exercise: Exercise) -> bool:
    return exercise.kind == "plain"


@check("value", stage="value", applies=is_plain)
def value(bench: Bench) -> None:
    """Catches a function whose value differs from the reference's on ordinary and edge arguments, in
    value, shape or dtype, also for non-contiguous tensors, and one that changes its arguments. Cannot see
    how the value was found."""
    for sample in (*bench.samples(), *bench.large(), *bench.exercise.inputs.extreme):
        right = bench.exercise.reference.forward(*sample.args)
        for layout in ("contiguous", "sliced"):
            seen = bench.subject.call(sample.args, layout)
            if seen.failure is not None:
                raise failed_call(seen.failure, sample.name)
            got = seen.value
            problem = unlike(got, right, bench.contract.tolerance)
            if problem:
                raise Failed(
                    f"For {sample.name} the result is wrong: {problem}.", look="what the exercise says is right."
                )
            if seen.facts.inputs_edited:
                raise Failed("Your function changed the tensor it was given; the caller still needs it.")


@check("fresh_value", stage="value", applies=is_plain)
def fresh_value(bench: Bench) -> None:
    """Catches results remembered by object, address or shape: called again on the same tensors after they were
    edited in place, the function must see the new values. Cannot see what is remembered elsewhere."""
    args = bench.generic()
    if not any(isinstance(a, Tensor) and a.is_floating_point() for a in args):
        return
    earlier = tuple(edited(a) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)
    seen = bench.subject.call(args, before=earlier)
    if seen.failure is not None:
        raise failed_call(seen.failure, "tensors that were edited in place since an earlier call")
    problem = unlike(seen.value, bench.exercise.reference.forward(*args), bench.contract.tolerance)
    if problem:
        raise Failed(
            f"Called again on the same tensors, edited in place since, the result is wrong: {problem}.",
            cause="something from the earlier call was remembered.",
        )


def unlike(got: Any, right: Any, tolerance: float) -> str:
    """ "" if got equals right (tensors by value, shape and dtype; numbers within tolerance), else what
    differs."""
    if isinstance(right, tuple):
        if not isinstance(got, (tuple, list)) or len(got) != len(right):
            return f"expected {len(right)} values in a tuple, got {_named(got)}"
        problems = [(i, unlike(g, r, tolerance)) for i, (g, r) in enumerate(zip(got, right, strict=True))]
        return next((f"in value {i + 1}, {problem}" for i, problem in problems if problem), "")
    if isinstance(right, Tensor):
        return "it is None" if got is None else difference(got, right, tolerance)
    if isinstance(right, float) and isinstance(got, (int, float)) and not isinstance(got, bool):
        return "" if abs(got - right) <= tolerance * max(1.0, abs(right)) else f"it is {got:.6g} instead of {right:.6g}"
    if isinstance(got, Tensor) or type(got) is not type(right):
        return f"expected a {type(right).__name__}, got {_named(got)}"
    return "" if got == right else f"it is {got!r}, which is not right"


def _named(value: Any) -> str:
    kind = f"a {type(value).__name__}"
    return f"{kind} of {len(value)}" if isinstance(value, (tuple, list)) else "None" if value is None else kind
