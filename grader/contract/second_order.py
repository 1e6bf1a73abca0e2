"""Checks of the second derivative: right, or refused loudly; never silently wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.contract.difference import difference
from grader.contract.values import has_reference
from grader.subject import Args, Grads, Observation, Probe

if TYPE_CHECKING:
    from grader.exercise import Exercise


def asks_second_order(exercise: Exercise) -> bool:
    return has_reference(exercise) and exercise.contract.second_order != "ignored"


@check("second_order", stage="contract", applies=asks_second_order)
def second_order(bench: Bench) -> None:
    """Catches second derivatives that are silently wrong: detached or NumPy saves, intermediates kept as
    constants, a torch.no_grad in backward, 0/0 at a smooth point. once_differentiable, which raises, is
    accepted unless the exercise requires second derivatives. Cannot see third derivatives."""
    points = [k.args for k in bench.exercise.inputs.kinks if torch.equal(k.low, k.high)]
    for args in (bench.generic(small=True), *points):
        if _second_order_at(bench, args):
            return


def _second_order_at(bench: Bench, args: Args) -> bool:
    """Fail where the second derivative at these arguments is wrong; whether it was refused."""
    upstream = bench.upstream(args, "upstream", scale=1.0)
    second: Grads = tuple(
        bench.draw(f"second {i}").normal(*a.shape) if isinstance(a, Tensor) and a.is_floating_point() else None
        for i, a in enumerate(args)
    )
    seen = bench.subject.observe(Probe(args, upstream=(upstream,), second=second))
    if _refused(bench, seen):
        return True
    assert seen.second is not None
    for got, right in zip(_flat(seen.second), _flat(_right_second(bench, args, upstream, second)), strict=True):
        problem = difference(got, right, 1e-7) if right is not None else ""
        if problem:
            raise Failed(
                f"The second derivative (the gradient of your gradient) is silently wrong: {problem}.",
                cause="backward uses something that autograd cannot see through: a detached or NumPy value, an "
                "intermediate of forward kept as a constant, torch.no_grad, or a formula that divides by zero.",
                look="backward must be made of differentiable operations on saved inputs or outputs, or be marked "
                "@once_differentiable so that it refuses.",
            )
    return False


def _refused(bench: Bench, seen: Observation) -> bool:
    """Whether the second derivative raised, and that is allowed."""
    wanted = bench.contract.second_order
    if seen.failure is None:
        if wanted == "must_raise":
            raise Failed("A second derivative must be refused here, but none was.", look="@once_differentiable.")
        return False
    if seen.failure.stage == "second" and wanted != "required" and "once_differentiable" in seen.failure.message:
        return True
    raise Failed(
        f"Asking for the second derivative failed: {seen.failure}.",
        cause="NumPy or another operation outside autograd in backward.",
        look="differentiable operations, or @once_differentiable, which says plainly that there is no "
        "second derivative.",
    )


def _right_second(bench: Bench, args: Args, upstream: Grads, second: Grads) -> tuple[Grads, Grads]:
    """The VJP of the reference's VJP with respect to the arguments and the upstream, by autograd on the
    reference."""
    leaves = [
        a.detach().clone().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a for a in args
    ]
    gs = [None if g is None else g.detach().clone().requires_grad_() for g in upstream]
    assert bench.exercise.reference.vjp is not None
    grads = bench.exercise.reference.vjp(gs[0] if len(gs) == 1 else tuple(gs), *leaves)
    pairs = [(g, c) for g, c in zip(grads, second, strict=True) if g is not None and c is not None and g.requires_grad]
    torch.autograd.backward([g for g, _ in pairs], [c for _, c in pairs])
    by_argument = tuple(_grad_or_zero(a) for a in leaves)
    return by_argument, tuple(_grad_or_zero(g) for g in gs)


def _grad_or_zero(value: object) -> Tensor | None:
    if not isinstance(value, Tensor) or not value.requires_grad:
        return None
    return torch.zeros_like(value) if value.grad is None else value.grad


def _flat(pair: tuple[Grads, Grads]) -> Grads:
    return (*pair[0], *pair[1])
