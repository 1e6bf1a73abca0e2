"""Checks of the gradient's values: against the reference, against finite differences, at kinks and
extremes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check, failed_call, must_reveal
from grader.contract.difference import difference
from grader.contract.proxy import SubjectFailed, proxied
from grader.contract.values import has_reference, is_differentiable
from grader.inputs import Sample
from grader.subject import Probe

if TYPE_CHECKING:
    from grader.exercise import Exercise


def has_true_gradient(exercise: Exercise) -> bool:
    return has_reference(exercise) and not exercise.contract.surrogate


@check("differentiable", stage="gradient", applies=is_differentiable)
def differentiable(bench: Bench) -> None:
    """Catches outputs that are cut off from the graph, and classes whose own backward the engine never
    runs (forward called directly, a built-in returned instead). Cannot see what the backward computes."""
    first = bench.ordinary()[:1]
    (seen,) = bench.runs(first, forward=True)
    if not any(seen.facts.requires_grad):
        raise Failed(
            "The output does not require grad although the input does: autograd sees a constant.",
            cause="the input reached forward inside a list or dict, the output is of an integer or bool dtype, or the "
            "Function was not called through .apply.",
        )
    (seen,) = bench.runs(first)
    if seen.facts.is_function and seen.facts.backward_calls == 0:
        raise Failed(
            "The gradient did not come from your backward: the engine never called it.",
            cause="apply was replaced, or the output belongs to another operation.",
        )


@check("vjp", stage="gradient", applies=has_reference)
def vjp(bench: Bench) -> None:
    """Catches wrong gradients with a random upstream gradient on ordinary inputs. An all-ones upstream
    would accept 1 for g, zeros for softmax and any permutation of g. Stays away from kinks."""
    must_reveal(_compare_vjps(bench, bench.ordinary()), "every expected gradient is zero")


@check("vjp_elsewhere", stage="contract", applies=has_reference)
def vjp_elsewhere(bench: Bench) -> None:
    """Catches gradients that are right on ordinary inputs only: other arguments, ranks and broadcastings,
    0-d, one-element and empty tensors. Stays away from kinks."""
    _compare_vjps(bench, bench.others())


def _compare_vjps(bench: Bench, samples: Sequence[Sample]) -> bool:
    """Fail where the gradients differ; whether any right one is not zero."""
    reveals = False
    for sample, seen in zip(samples, bench.runs(samples), strict=True):
        right = bench.right_grads(sample.args, bench.common_upstream(sample))
        bench.compare(
            seen.grads[0],
            right,
            where=sample.name,
            look="your backward: which formula, of which saved tensor, times what?",
        )
        reveals = reveals or any(g is not None and bool((g != 0).any()) for g in right)
    return reveals


@check("gradcheck", stage="gradient", applies=has_true_gradient)
def gradcheck(bench: Bench) -> None:
    """Catches a backward that is not the derivative of its own forward, by torch.autograd.gradcheck in
    float64. Cannot see a wrong forward, an upstream used non-linearly, state, layout, dtype, nor anything
    at a kink."""
    if not _gradcheck_accepts(bench):
        raise Failed(
            "torch.autograd.gradcheck says False: the numerical and your analytical Jacobian differ.",
            cause="the backward is not the derivative of your own forward.",
            look="the formula in backward; write the derivative out by hand for one element.",
        )


@check("surrogate", stage="gradient", applies=lambda e: has_reference(e) and e.contract.surrogate)
def surrogate(bench: Bench) -> None:
    """Catches the true derivative where a surrogate is asked: gradcheck on a straight-through estimator
    must say False. Which surrogate it is, the check `vjp` says."""
    if _gradcheck_accepts(bench):
        raise Failed(
            "gradcheck accepts your gradient, so it is the true derivative of the forward; here another one "
            "is declared.",
            look="what the exercise declares the gradient to be.",
        )


def _gradcheck_accepts(bench: Bench) -> bool:
    """What torch.autograd.gradcheck says of a small ordinary sample, through the seam."""
    function, tensors = proxied(bench.subject, bench.generic(small=True))
    try:
        return torch.autograd.gradcheck(
            function, tensors, eps=1e-6, atol=1e-5, raise_exception=False, check_undefined_grad=False
        )
    except SubjectFailed as error:
        raise failed_call(error.failure, "the inputs of gradcheck") from None


@check("kinks", stage="gradient", applies=lambda e: bool(e.inputs.kinks))
def kinks(bench: Bench) -> None:
    """Catches gradients exactly at a kink that lie outside the interval of legal ones: NaN from 0/0, twice
    the slope. Every subgradient inside is accepted unless the exercise states one."""
    all_kinks = bench.exercise.inputs.kinks
    ones = [tuple(torch.ones_like(o) for o in bench.right_outputs(kink.args)) for kink in all_kinks]
    probes = [Probe(kink.args, upstream=(g,)) for kink, g in zip(all_kinks, ones, strict=True)]
    answers = bench.observe_each([(probe, "an input at a kink") for probe in probes])
    for kink, seen in zip(all_kinks, answers, strict=True):
        got = seen.grads[0][kink.index]
        got = torch.zeros_like(kink.low) if got is None else got
        bad = ~((got >= kink.low - 1e-9) & (got <= kink.high + 1e-9))
        if bool(bad.any()):
            at = int(bad.flatten().to(torch.int8).argmax())
            x, d = kink.args[kink.index].flatten()[at].item(), got.flatten()[at].item()
            raise Failed(
                f"At x = {x:g} the derivative is {d:g}, which is no legal value there.",
                cause="a division by zero, two overlapping masks, or the wrong side of a bound.",
                look="what your formula gives exactly at this point.",
            )


@check("extreme_gradient", stage="contract", applies=lambda e: bool(e.inputs.extreme))
def extreme_gradient(bench: Bench) -> None:
    """Catches gradients that overflow to NaN or infinity, or vanish, at magnitudes where the reference's
    are finite. Sees only the magnitudes the exercise lists."""
    samples = bench.extreme()
    rights = [bench.right_grads(sample.args, bench.common_upstream(sample)) for sample in samples]
    must_reveal(
        all(g is None or bool(torch.isfinite(g).all()) for right in rights for g in right),
        "the reference gradient is not finite",
    )
    for sample, right, seen in zip(samples, rights, bench.runs(samples), strict=True):
        bench.compare(
            seen.grads[0],
            right,
            where=sample.name,
            cause="an intermediate value overflows (inf * 0, inf / inf).",
            look="which intermediate grows with |x|, and a form of the formula in which none does.",
        )


@check("frozen_inputs", stage="contract", applies=has_reference)
def frozen_inputs(bench: Bench) -> None:
    """Catches a backward that works only if every input requires grad. Does not ask that work for frozen
    ones is saved."""
    args = bench.generic()
    floating = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point()]
    if len(floating) < 2:
        return
    upstream = bench.upstream(args)
    right = bench.right_grads(args, upstream)
    asked = [
        (
            Probe(args, upstream=(upstream,), wanted=tuple(i == kept for i in range(len(args)))),
            f"only argument {kept + 1} requiring grad",
        )
        for kept in floating
    ]
    for kept, seen in zip(floating, bench.observe_each(asked), strict=True):
        problem = difference(seen.grads[0][kept], right[kept], bench.contract.tolerance)  # type: ignore[arg-type]
        if problem:
            raise Failed(f"When only argument {kept + 1} requires grad, its gradient is wrong: {problem}.")
