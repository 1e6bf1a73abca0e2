"""Checks of state: what is kept between forward and backward, where, how much, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.contract.values import has_reference, is_differentiable
from grader.subject import Args, Facts, Observation, Probe, edited

if TYPE_CHECKING:
    from grader.exercise import Exercise


@check("edited_inputs", stage="contract", applies=has_reference)
def edited_inputs(bench: Bench) -> None:
    """Catches ctx.x = x and x.data: when the input is edited in place before backward, a tensor from
    save_for_backward raises; one kept otherwise gives a silently wrong gradient. Cannot see state that
    does not depend on the input."""
    _after_edit(bench, "edit_inputs", "an input")


@check("edited_outputs", stage="contract", applies=has_reference)
def edited_outputs(bench: Bench) -> None:
    """Catches ctx.y = y: the same as edited_inputs for the output. Cannot see state that does not depend
    on it."""
    _after_edit(bench, "edit_outputs", "the output")


def _after_edit(bench: Bench, what: str, name: str) -> None:
    for attempt in range(8):
        args = bench.generic(str(attempt))
        upstream = bench.upstream(args)
        right = bench.right_grads(args, upstream)
        moved = tuple(edited(a) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)
        if not all(_equal(a, b) for a, b in zip(right, bench.right_grads(moved, upstream), strict=True)):
            break
    seen = bench.subject.observe(Probe(args, upstream=(upstream,), meanwhile=what))  # type: ignore[arg-type]
    if seen.failure is not None:
        return
    bench.compare(
        seen.grads[0],
        right,
        where=f"{name} that was edited in place between forward and backward",
        cause=f"{name} is kept outside save_for_backward, so nothing notices that it changed{_attributes(seen)}.",
        look="how the tensors that backward needs are stored.",
    )


def _equal(a: Tensor | None, b: Tensor | None) -> bool:
    return a is b or (a is not None and b is not None and torch.equal(a, b))


def _attributes(seen: Observation) -> str:
    names = ", ".join(f"ctx.{name}" for name in seen.facts.attributes[:4])
    return f" (you keep {names})" if names else ""


@check("freed", stage="contract", applies=is_differentiable)
def freed(bench: Bench) -> None:
    """Catches a reference cycle (ctx.y = y): the memory of every call stays until the garbage collector
    happens to run. Cannot see memory kept in globals."""
    seen = bench.observe(Probe(bench.generic(), ask_freed=True), where="an ordinary input")
    if seen.facts.freed is False:
        raise Failed(
            f"After the output is gone its graph node stays alive{_attributes(seen)}.",
            cause="the output is stored as an attribute of ctx: output and node hold each other.",
            look="how the tensors that backward needs are stored.",
        )


@check("backward_twice", stage="contract", applies=has_reference)
def backward_twice(bench: Bench) -> None:
    """Catches a backward that consumes or overwrites what it saved: with retain_graph=True a second pass
    must give the right gradient again. Cannot see state shared between calls."""
    args = bench.generic()
    first, second = bench.upstream(args, "first"), bench.upstream(args, "second")
    seen = bench.observe(Probe(args, upstream=(first, second)), where="a second backward with retain_graph=True")
    for which, (got, given) in enumerate(zip(seen.grads, (first, second), strict=True)):
        bench.compare(
            got,
            bench.right_grads(args, given),
            where=f"the {('first', 'second')[which]} of two backward passes through the same graph",
            cause="the passes share memory, or the first one changed what was saved.",
        )


@check("independent_calls", stage="contract", applies=has_reference)
def independent_calls(bench: Bench) -> None:
    """Catches state kept on the class or in a global: after two forwards the first backward must still use
    its own. Sees calls in one thread only."""
    args = bench.generic("one")
    upstream = bench.upstream(args)
    others = (bench.generic("two"), *_with_other_numbers(bench, args), *_same_tensors_other_numbers(bench, args))
    probes = [Probe(args, upstream=(upstream,), meanwhile="other_call", other=other) for other in others]
    for seen in bench.observe_each([(probe, "a backward after another forward") for probe in probes]):
        fact = "After a second call the output of the first is wrong"
        bench.compare_outputs(seen, args, fact=fact, cause="shared memory.")
        bench.compare(
            seen.grads[0],
            bench.right_grads(args, upstream),
            where="the first of two calls",
            cause="what forward saved was overwritten by the next forward: it is kept on the class or in a global.",
            look="where forward puts what backward needs; only ctx belongs to one call.",
        )


def _with_other_numbers(bench: Bench, args: Args) -> Args:
    """Up to two variants whose plain arguments differ from those of `args`."""
    mine = [a for a in args if not isinstance(a, Tensor)]
    variants = [s.args for s in bench.variants()]
    return tuple(v for v in variants if [a for a in v if not isinstance(a, Tensor)] != mine)[:2]


def _same_tensors_other_numbers(bench: Bench, args: Args) -> tuple[Args, ...]:
    """The very tensors of `args` with other plain arguments, where a variant offers some that fit in kind."""
    for variant in _with_other_numbers(bench, args):
        if [type(a) for a in variant] == [type(a) for a in args]:
            return (tuple(a if isinstance(a, Tensor) else v for a, v in zip(args, variant, strict=True)),)
    return ()


@check("fresh_call", stage="contract", applies=has_reference)
def fresh_call(bench: Bench) -> None:
    """Catches results remembered by object, address or shape: run again on the same tensors after they were edited in
    place, as an optimizer step does, output and gradient must be those of the new values. Cannot see other state."""
    args = bench.generic()
    upstream = bench.upstream(args)
    earlier = tuple(edited(a) if isinstance(a, Tensor) and a.is_floating_point() else a for a in args)
    where = "tensors that were edited in place since an earlier call"
    seen = bench.observe(Probe(args, upstream=(upstream,), before=earlier), where=where)
    fact = f"For {where} the output is wrong"
    bench.compare_outputs(seen, args, fact=fact, cause="an earlier call was remembered.")
    bench.compare(
        seen.grads[0], bench.right_grads(args, upstream), where=where, cause="something from an earlier call was kept."
    )


@check("no_side_effects", stage="contract", applies=is_differentiable)
def no_side_effects(bench: Bench) -> None:
    """Catches a backward that fills the .grad of leaves itself, or code that changes torch's global state
    (default dtype, gradient mode, threads). Cannot see side effects outside torch."""
    args = bench.generic()
    leaf = bench.observe(Probe(args, upstream=(bench.upstream(args),), leaf=True), where="inputs that are leaves")
    for seen in (leaf, *bench.runs(bench.ordinary())):
        if seen.facts.leaf_grad_touched:
            raise Failed(
                "Your backward itself changed the .grad of an input; the engine then adds the gradient again.",
                cause=".backward() is called inside backward, or .grad is assigned.",
                look="backward only returns gradients; the engine stores them.",
            )
        if seen.facts.state_changes:
            raise Failed(f"The call changed {', '.join(seen.facts.state_changes)} for everybody; it was put back.")


@check("shared_input", stage="contract", applies=has_reference)
def shared_input(bench: Bench) -> None:
    """Catches Functions that disturb other users of their input: a hook left on it, values overwritten
    that another operation has saved. The input also feeds a sine; its gradient must be the sum of both.
    Cannot see users elsewhere."""
    args = bench.generic()
    upstream = bench.upstream(args)
    right = tuple(
        None if g is None else g + (torch.cos(a) if a.is_floating_point() else 0)
        for g, a in zip(bench.right_grads(args, upstream), args, strict=True)
    )
    seen = bench.observe(
        Probe(args, upstream=(upstream,), shared=True), where="an input that another operation uses too"
    )
    bench.compare(
        seen.grads[0],
        right,
        where="an input that another operation uses too",
        cause="the call changes the input or hangs something on it, and the other operation suffers.",
    )


@check("own_backward", stage="contract", applies=lambda e: is_differentiable(e) and not e.contract.inner_autograd)
def own_backward(bench: Bench) -> None:
    """Catches a backward that lets PyTorch differentiate (torch.autograd.grad, .backward(), torch.func, a graph's
    node called by hand, PyTorch's own backward of an operation) instead of stating the vector-Jacobian product.
    Cannot see what another thread does."""
    args = bench.generic()
    probe = Probe(args, upstream=(bench.upstream(args),), ask_autograd=True)
    seen = bench.observe(probe, where="an ordinary input")
    if seen.facts.inner_autograd:
        raise Failed(
            "Inside your backward PyTorch differentiated: the autograd engine ran, a graph was recorded, or PyTorch's "
            "own backward of an operation was called.",
            look="the exercise asks for the gradient in your own formula.",
        )


def has_memory_budget(exercise: Exercise) -> bool:
    return exercise.contract.saved_bytes is not None or exercise.contract.saved_tensors is not None


@check("saved_memory", stage="contract", applies=has_memory_budget)
def saved_memory(bench: Bench) -> None:
    """Catches more kept for backward than the exercise allows: in saved tensors, ctx attributes, attributes of the
    class and globals that its methods name. Cannot see what is kept further away."""
    # What is kept may depend on the values: one sample could be a lucky one.
    probes = [Probe(s.args, upstream=(bench.upstream(s.args),), ask_saved=True) for s in bench.ordinary()]
    answers = bench.observe_each([(probe, "an ordinary input") for probe in probes])
    for probe, seen in zip(probes, answers, strict=True):
        _within_budget(bench, probe.args, seen.facts)


def _within_budget(bench: Bench, args: Args, facts: Facts) -> None:
    budget = bench.contract.saved_bytes(*args) if bench.contract.saved_bytes else None
    if budget is not None and facts.saved_bytes > budget:
        raise Failed(
            f"{facts.saved_bytes} bytes are kept for backward ({', '.join(facts.saved)}), the exercise "
            f"allows {budget}.",
            cause="a whole floating-point tensor is saved where less would do, or more tensors than needed.",
            look="what backward really needs to know about each element.",
        )
    most = bench.contract.saved_tensors
    if most is not None and facts.saved_floats > most:
        raise Failed(
            f"{facts.saved_floats} floating-point tensors are kept for backward ({', '.join(facts.saved)}), "
            f"the exercise "
            f"allows {most}.",
            look="which of them can be computed again from the others.",
        )
