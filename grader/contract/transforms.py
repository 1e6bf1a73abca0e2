"""Checks for Functions that go further: other devices, torch.func.vmap, forward-mode derivatives."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.contract.difference import difference
from grader.contract.values import has_reference, is_differentiable
from grader.subject import Grads, Probe


@check("device", stage="contract", applies=is_differentiable)
def device(bench: Bench) -> None:
    """Catches tensors made on the CPU whatever the input's device (torch.zeros(shape) without device=), by
    running shapes only on the meta device. Code that cannot run without data (NumPy) is not blamed. Cannot
    see wrong values."""
    args = bench.generic()
    seen = bench.subject.observe(Probe(args, upstream=(bench.upstream(args),), device="meta"))
    text = seen.failure.message if seen.failure else ""
    mixed = "device" in text and ("cpu" in text or "different" in text) and "numpy" not in text
    stayed = any(isinstance(o, Tensor) and o.device.type != "meta" for o in seen.outputs)
    if mixed or stayed:
        raise Failed(
            f"On another device than the CPU it fails: {seen.failure if mixed else 'the output stays on the CPU'}.",
            cause="a tensor is created without saying on which device.",
            look="torch.zeros, torch.tensor, torch.arange and their like: take device and dtype from a "
            "tensor you were given.",
        )


@check("vmap", stage="contract", applies=has_reference)
def vmap(bench: Bench) -> None:
    """Catches a class that claims to work under torch.func.vmap (generate_vmap_rule, or its own vmap) and
    does not: the result must equal a loop. Classes that claim nothing are not asked."""
    if not bench.subject.claims("vmap"):
        return
    args = bench.generic()
    batched = [isinstance(a, Tensor) and a.is_floating_point() for a in args]
    stacked = tuple(torch.stack([a, 0.5 * a, -a]) if b else a for a, b in zip(args, batched, strict=True))
    seen = bench.observe(Probe(stacked, wanted=tuple(batched), transform="vmap"), where="torch.func.vmap")
    singles = [tuple(a[k] if b else a for a, b in zip(stacked, batched, strict=True)) for k in range(3)]
    loop = [bench.right_outputs(single) for single in singles]
    for mine, *rights in zip(seen.outputs, *loop, strict=True):
        problem = difference(mine, torch.stack(rights), 1e-7)
        if problem:
            raise Failed(f"Under torch.func.vmap the output is not that of a loop: {problem}.")


@check("jvp", stage="contract", applies=has_reference)
def jvp(bench: Bench) -> None:
    """Catches a forward-mode rule (jvp) that disagrees with backward: for random t and g, g . (J t) must
    equal (g J) . t. Classes without a jvp are not asked."""
    if not bench.subject.claims("jvp"):
        return
    args = bench.generic()
    tangents: Grads = tuple(
        bench.draw(f"tangent {i}").normal(*a.shape) if isinstance(a, Tensor) and a.is_floating_point() else None
        for i, a in enumerate(args)
    )
    upstream = bench.upstream(args)
    seen = bench.observe(Probe(args, upstream=(tangents,), transform="jvp"), where="torch.func.jvp")
    along = sum(float((g * o).sum()) for g, o in zip(upstream, seen.outputs, strict=True) if g is not None)
    grads = bench.right_grads(args, upstream)
    back = sum(
        float((v * t).sum().detach()) for v, t in zip(grads, tangents, strict=True) if v is not None and t is not None
    )
    if abs(along - back) > 1e-7 * max(1.0, abs(back)):
        raise Failed(
            f"The forward-mode derivative disagrees with the gradient: g . (J t) is {along:.6g}, (g J) . t "
            f"is {back:.6g}.",
            look="your jvp: the same Jacobian as in backward, multiplied from the other side.",
        )
