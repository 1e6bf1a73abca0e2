"""Checks of how a backward treats the upstream gradient: linearly, read-only, whatever its memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from grader.contract.bench import Bench
from grader.contract.check import Failed, check, must_reveal
from grader.contract.difference import difference
from grader.contract.values import has_reference, is_differentiable
from grader.subject import Grads, Layout, Probe

if TYPE_CHECKING:
    from grader.exercise import Exercise


@check("upstream_linearity", stage="gradient", applies=has_reference)
def upstream_linearity(bench: Bench) -> None:
    """Catches an upstream gradient used non-linearly: clamped, squared, by its sign or norm. gradcheck
    sends only unit vectors and accepts those. Cannot see a wrong formula that is linear in g."""
    args = bench.generic()
    g, h = _of_many_sizes(bench, bench.upstream(args, "g")), _of_many_sizes(bench, bench.upstream(args, "h"))
    right = bench.right_grads(args, g)
    must_reveal(any(d is not None and bool((d != 0).any()) for d in right), "every expected gradient is zero")
    mixed: Grads = tuple(None if a is None or b is None else b - 3.0 * a for a, b in zip(g, h, strict=True))
    asked = [(Probe(args, upstream=(u,)), "a random upstream gradient") for u in (g, h, mixed)]
    parts = [seen.grads[0] for seen in bench.observe_each(asked)]
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
    for seen in bench.runs((*bench.ordinary(), *bench.large())):
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
    asked = [
        (Probe(args, upstream=(upstream,), upstream_layout="sliced"), "a strided slice"),
        (Probe(args, upstream=(upstream,), upstream_layout="transposed"), "transposed"),
        (Probe(args, upstream=(constant,), upstream_layout="expanded"), "the stride-0 tensor that .sum() sends"),
    ]
    asked = [(probe, f"a grad_output that is {name}") for probe, name in asked]
    for (probe, where), seen in zip(asked, bench.observe_each(asked), strict=True):
        bench.compare(
            seen.grads[0],
            bench.right_grads(args, probe.upstream[0]),
            where=where,
            cause="the backward depends on how grad_output lies in memory, or writes into it.",
            look="calls of .view, as_strided, and in-place operations on grad_output.",
        )


@check("input_layout", stage="contract", applies=has_reference)
def input_layout(bench: Bench) -> None:
    """Catches code that reads the inputs' raw storage: transposed and strided inputs must give the same
    results. Cannot see layouts the operation itself never meets."""
    layouts: tuple[Layout, ...] = ("transposed", "sliced")
    some = [(bench.generic(layout), layout) for layout in layouts]
    probes = [Probe(args, upstream=(bench.upstream(args),), input_layout=layout) for args, layout in some]
    asked = [(probe, f"inputs in a {probe.input_layout} memory layout") for probe in probes]
    for (probe, where), seen in zip(asked, bench.observe_each(asked), strict=True):
        args, (upstream,) = probe.args, probe.upstream
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
    alone = [tuple(g if i == used else None for i, g in enumerate(whole)) for used in range(len(whole))]
    asked = [(Probe(args, upstream=(g,)), f"a loss that uses output {i + 1} only") for i, g in enumerate(alone)]
    for (probe, where), seen in zip(asked, bench.observe_each(asked), strict=True):
        bench.compare(
            seen.grads[0],
            bench.right_grads(args, probe.upstream[0]),
            where=where,
            cause="an unused output sends None or zeros.",
        )
