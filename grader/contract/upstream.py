"""Checks of how a backward treats the upstream gradient: linearly, read-only, whatever its memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grader.contract.check import Bench, Failed, check, difference, must_reveal
from grader.contract.values import has_reference, is_differentiable
from grader.subject import Grads, Probe

if TYPE_CHECKING:
    from grader.exercise import Exercise


def _delivered(bench: Bench, args: tuple[object, ...], upstream: Grads, where: str) -> Grads:
    return bench.observe(Probe(args, upstream=(upstream,)), where=where).grads[0]


@check("upstream_linearity", stage="gradient", applies=has_reference)
def upstream_linearity(bench: Bench) -> None:
    """Catches an upstream gradient used non-linearly: clamped, squared, by its sign or norm. gradcheck
    sends only unit vectors and accepts those. Cannot see a wrong formula that is linear in g."""
    args = bench.generic()
    g, h = _of_many_sizes(bench, bench.upstream(args, "g")), _of_many_sizes(bench, bench.upstream(args, "h"))
    right = bench.right_grads(args, g)
    must_reveal(any(d is not None and bool((d != 0).any()) for d in right), "every expected gradient is zero")
    mixed: Grads = tuple(None if a is None or b is None else b - 3.0 * a for a, b in zip(g, h, strict=True))
    parts = [_delivered(bench, args, u, "a random upstream gradient") for u in (g, h, mixed)]
    for index, (a, b, both) in enumerate(zip(*parts, strict=True)):
        if a is None or b is None or both is None:
            continue
        problem = difference(both, b - 3.0 * a, 1e-7)
        if problem:
            which = f" (argument {index + 1})" if len(args) > 1 else ""
            raise Failed(
                f"backward is not linear in the upstream gradient{which}: for h - 3g it is not what it gave "
                f"for h minus three "
                f"times what it gave for g: {problem}.",
                cause="the backward leaves grad_output out, or clamps, squares, normalises it or takes its sign.",
                look="every place where grad_output is used: it may only be multiplied by things made from the inputs.",
            )


def _of_many_sizes(bench: Bench, upstream: Grads) -> Grads:
    """The upstream gradients with each element scaled by a power of ten from -6 to 6."""
    draw = bench.draw("sizes")
    return tuple(None if g is None else g * 10 ** draw.uniform(*g.shape, low=-6, high=6).round() for g in upstream)


@check("upstream_untouched", stage="contract", applies=is_differentiable)
def upstream_untouched(bench: Bench) -> None:
    """Catches a backward that writes into grad_output, which other branches of the graph share. Cannot see
    a write to a copy, which is fine."""
    for args in (bench.generic(), bench.generic("another"), *(sample.args for sample in bench.large())):
        seen = bench.observe(Probe(args, upstream=(bench.upstream(args),)), where="an ordinary input")
        if seen.facts.upstream_edited:
            raise Failed(
                "After backward, grad_output holds other values than before: your backward wrote into it.",
                cause="an in-place operation on grad_output (indexing assignment, or a name that ends in _).",
                look="make a new tensor; grad_output also belongs to the other branches of the graph.",
            )


@check("upstream_layout", stage="contract", applies=has_reference)
def upstream_layout(bench: Bench) -> None:
    """Catches code that reads raw storage or calls .view(): the same numbers must give the same gradient
    when grad_output is transposed, a strided slice, or the stride-0 tensor that .sum() sends. Cannot see
    what the backward does to it."""
    args = bench.generic()
    upstream = bench.upstream(args)
    constant: Grads = tuple(None if g is None else torch.full_like(g, float(g.flatten()[0])) for g in upstream)
    for layout, name, given in (
        ("sliced", "a strided slice", upstream),
        ("transposed", "transposed", upstream),
        ("expanded", "the stride-0 tensor that .sum() sends", constant),
    ):
        where = f"a grad_output that is {name}"
        seen = bench.observe(Probe(args, upstream=(given,), upstream_layout=layout), where=where)  # type: ignore[arg-type]
        bench.compare(
            seen.grads[0],
            bench.right_grads(args, given),
            where=where,
            cause="the backward depends on how grad_output lies in memory, or writes into it.",
            look="calls of .view, as_strided, and in-place operations on grad_output.",
        )


@check("input_layout", stage="contract", applies=has_reference)
def input_layout(bench: Bench) -> None:
    """Catches code that reads the inputs' raw storage: transposed and strided inputs must give the same
    results. Cannot see layouts the operation itself never meets."""
    for layout in ("transposed", "sliced"):
        args = bench.generic(layout)
        upstream = bench.upstream(args)
        where = f"inputs in a {layout} memory layout"
        seen = bench.observe(Probe(args, upstream=(upstream,), input_layout=layout), where=where)
        cause = "raw storage is read."
        bench.compare_outputs(seen, args, fact=f"For {where} the output is wrong", cause=cause)
        bench.compare(seen.grads[0], bench.right_grads(args, upstream), where=where, cause=cause)


def several_outputs(exercise: Exercise) -> bool:
    return has_reference(exercise) and exercise.outputs > 1


@check("unused_outputs", stage="contract", applies=several_outputs)
def unused_outputs(bench: Bench) -> None:
    """Catches arithmetic on None, or missing parts, when only one of several outputs is used in the loss.
    Cannot apply to Functions of one output."""
    args = bench.generic()
    whole = bench.upstream(args)
    for used in range(len(whole)):
        alone: Grads = tuple(g if i == used else None for i, g in enumerate(whole))
        where = f"a loss that uses output {used + 1} only"
        seen = bench.observe(Probe(args, upstream=(alone,)), where=where)
        bench.compare(
            seen.grads[0],
            bench.right_grads(args, alone),
            where=where,
            cause="an unused output sends None or zeros.",
        )
