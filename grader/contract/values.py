"""Checks of the forward: values, shapes and dtypes against the reference, and what it does to its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, get_args

import torch

from grader.contract.bench import Bench, Way
from grader.contract.check import Failed, check, must_reveal
from grader.contract.difference import cast, short
from grader.inputs import Sample
from grader.subject import Args, Observation, Probe

if TYPE_CHECKING:
    from grader.exercise import Exercise


def is_differentiable(exercise: Exercise) -> bool:
    return exercise.kind == "function"


def has_reference(exercise: Exercise) -> bool:
    """Whether outputs and gradients can be compared with the reference's: not where they are random."""
    return is_differentiable(exercise) and not exercise.contract.random


def _compare_common(bench: Bench, samples: Sequence[Sample]) -> None:
    for sample, seen in zip(samples, bench.runs(samples, forward=True), strict=True):
        _compare_outputs(bench, sample, seen)


def _compare_forwards(bench: Bench, samples: Sequence[Sample], *, tolerance: float | None = None) -> None:
    answers = bench.observe_each([(Probe(sample.args), sample.name) for sample in samples])
    for sample, seen in zip(samples, answers, strict=True):
        _compare_outputs(bench, sample, seen, tolerance)


def _compare_outputs(bench: Bench, sample: Sample, seen: Observation, tolerance: float | None = None) -> None:
    right = bench.right_outputs(sample.args)
    if len(seen.outputs) != len(right):
        raise Failed(f"forward gave {len(seen.outputs)} outputs for {sample.name}, expected {len(right)}.")
    bench.compare_outputs(
        seen,
        sample.args,
        fact=f"For {sample.name} the output is wrong",
        cause="the forward computes something else for this input.",
        look="compare your forward with the formula in the exercise, for this kind of input.",
        tolerance=tolerance,
    )


@check("forward", stage="forward", applies=has_reference)
def forward(bench: Bench) -> None:
    """Catches a forward whose value, shape or dtype differs from the reference on ordinary inputs. Cannot
    see the gradient."""
    _compare_common(bench, bench.ordinary())


@check("forward_elsewhere", stage="contract", applies=has_reference)
def forward_elsewhere(bench: Bench) -> None:
    """Catches a forward that is right on ordinary inputs only: other arguments, other ranks, 0-d,
    one-element and empty tensors. Cannot see the gradient."""
    _compare_common(bench, bench.others())


@check("forward_at_kinks", stage="forward", applies=lambda e: bool(e.inputs.at_kinks))
def forward_at_kinks(bench: Bench) -> None:
    """Catches wrong values exactly at kinks, ties and rounding points: sign(0), round half to even. Says
    nothing of the gradient there."""
    _compare_forwards(bench, bench.exercise.inputs.at_kinks, tolerance=1e-16)


@check("forward_extreme", stage="contract", applies=lambda e: bool(e.inputs.extreme))
def forward_extreme(bench: Bench) -> None:
    """Catches formulas that overflow, or saturate early, at magnitudes where the reference is finite. Sees
    only the magnitudes the exercise lists."""
    samples = bench.extreme()
    for sample in samples:
        right = bench.right_outputs(sample.args)
        must_reveal(all(bool(torch.isfinite(o).all()) for o in right), "the reference is not finite there")
    _compare_common(bench, samples)
    _compare_forwards(bench, [single for sample in samples for single in _in_float32(bench, sample)], tolerance=1e-5)


def _in_float32(bench: Bench, sample: Sample) -> Iterator[Sample]:
    """The sample in float32, where that holds the same numbers and the reference is finite there."""
    single = cast(sample.args, torch.float32)
    exact = all(torch.equal(a, b.double()) for a, b in zip(_floats(sample.args), _floats(single), strict=True))
    if exact and all(bool(torch.isfinite(o).all()) for o in bench.right_outputs(single)):
        yield Sample(f"{sample.name} in float32", single)


def _floats(args: Args) -> list[torch.Tensor]:
    return [a for a in args if isinstance(a, torch.Tensor) and a.is_floating_point()]


@check("forward_nonfinite", stage="contract", applies=lambda e: bool(e.inputs.nonfinite))
def forward_nonfinite(bench: Bench) -> None:
    """Catches a forward that hides NaN or mishandles infinities. Says nothing of gradients at such inputs."""
    _compare_forwards(bench, bench.exercise.inputs.nonfinite)


@check("no_grad", stage="contract", applies=has_reference)
def no_grad(bench: Bench) -> None:
    """Catches a forward that works only while gradients are recorded (a return inside the requires_grad
    branch). Cannot see differences that training mode makes elsewhere."""
    ways: tuple[tuple[Way, str], ...] = (
        ("no_grad", "Under torch.no_grad()"),
        ("frozen", "When no input needs a gradient"),
    )
    for way, when in ways:
        for sample, seen in zip(bench.ordinary(), bench.runs(bench.ordinary(), way), strict=True):
            bench.compare_outputs(seen, sample.args, fact=f"{when} the output is wrong")


@check("low_precision", stage="contract", applies=lambda e: has_reference(e) and e.contract.low_precision)
def low_precision(bench: Bench) -> None:
    """Catches outputs and gradients in another dtype than the input's (a `.float()`, a NumPy float64) and
    code that runs in float64 only. Compares values loosely; small losses of precision are not its
    business."""
    kinds = {torch.float32: 1e-4, torch.bfloat16: 6e-2}
    samples = [Sample(f"a {short(dtype)} input", cast(bench.generic(short(dtype)), dtype)) for dtype in kinds]
    upstreams = [cast(bench.upstream(s.args), dtype) for s, dtype in zip(samples, kinds, strict=True)]
    answers = bench.observe_each(
        [(Probe(s.args, upstream=(g,)), s.name) for s, g in zip(samples, upstreams, strict=True)]
    )
    for sample, upstream, tolerance, seen in zip(samples, upstreams, kinds.values(), answers, strict=True):
        args, where = sample.args, sample.name
        fact, cause = f"For {where} the output is wrong", "a dtype written into the code."
        bench.compare_outputs(seen, args, fact=fact, cause=cause, tolerance=tolerance)
        bench.compare(seen.grads[0], bench.right_grads(args, upstream), where=where, tolerance=tolerance)
        _returned_dtypes(bench, seen.returned, args, where)


def _returned_dtypes(bench: Bench, returned: tuple[object, ...], args: tuple[object, ...], where: str) -> None:
    for back in returned:
        for (_, _, dtype), arg in zip(back.items, args, strict=False):  # type: ignore[attr-defined]
            if (
                dtype is not None
                and isinstance(arg, torch.Tensor)
                and arg.is_floating_point()
                and dtype != short(arg.dtype)
            ):
                raise Failed(
                    f"For {where} your backward returned a gradient in {dtype}; the engine had to convert it.",
                    cause="a dtype written into the code, or a tensor made without one.",
                )


@check("inputs_untouched", stage="contract", applies=is_differentiable)
def inputs_untouched(bench: Bench) -> None:
    """Catches a forward or backward that changes the caller's tensors in place without saying so
    (mark_dirty). Cannot see a write that puts the same value back."""
    samples, ways = bench.samples(edges=False), get_args(Way)
    for seen in (seen for way in ways for seen in bench.runs(samples, way)):
        if seen.facts.inputs_edited:
            raise Failed(
                "After the call the input tensor holds other values than before.",
                cause="an in-place operation on an argument (a name that ends in _, or an assignment into it).",
                look="every line that writes; make a new tensor instead.",
            )
