"""LocalSubject: a class or function in this process, run as a Probe says and watched while it runs."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import FrameType, FunctionType, ModuleType
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import Function

from grader.guard import TimeLimit, describe, guarded, memory_limit, random_kept, time_limit, torch_unpatched
from grader.subject import (
    NOT_A_TENSOR,
    Args,
    Description,
    Facts,
    Failure,
    Grads,
    Layout,
    Observation,
    Probe,
    edited,
)
from grader.tracing import Trace, traced

__all__ = ["LocalSubject", "laid_out", "same_layout", "what_is"]

Call = Callable[..., Any]
EXTRA_MEMORY = 4 * 2**30  # bytes that a check may add to the address space of the process


class LocalSubject:
    """Wraps an autograd.Function class (called through .apply) or a plain function.

    `call(target, args)` overrides how a call is made, for implementations that wrap their Function in
    another one.
    """

    distant = False

    def __init__(self, target: Any, *, call: Callable[[Any, Args], Any] | None = None) -> None:
        self.is_function = isinstance(target, type) and issubclass(target, Function)
        self.trace = Trace()
        self.target = traced(target, self.trace) if self.is_function else target
        self._call = call or (_apply if self.is_function else _plain)

    def observe(self, probe: Probe) -> Observation:
        seen = Observation(facts=Facts(is_function=self.is_function))
        self.trace.reset(ask_autograd=probe.ask_autograd)
        with guarded() as side, torch.enable_grad():
            try:
                _Run(self, probe, seen).go()
            except _Stop:
                pass
            except (Exception, SystemExit, TimeLimit) as error:
                seen.failure = describe(error, "forward")
        facts = seen.facts
        facts.backward_calls, facts.inner_autograd = self.trace.backward_calls, self.trace.inner_autograd
        facts.upstream_edited = facts.upstream_edited or self.trace.upstream_edited
        facts.attributes, seen.returned = self.trace.attributes, tuple(self.trace.returned)
        facts.printed, facts.warnings, facts.state_changes = side.printed, side.warnings, side.state_changes
        return seen

    def observe_each(self, probes: Sequence[Probe]) -> list[Observation]:
        seen: list[Observation] = []
        for probe in probes:
            seen.append(self.observe(probe))
            if seen[-1].failure is not None:
                break
        return seen

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        seen = Observation()
        given = tuple(_own(a, layout) for a in (args if before is None else before))
        if before is not None:
            self._call_and_edit(given, args)
        tensors = list(_tensors_in(given))
        old = [(t.detach().clone(), t.requires_grad) for t in tensors]
        with guarded() as side, _gradcheck_counted(seen.facts):
            try:
                value = self._call(self.target, given)
                seen.single = not isinstance(value, tuple)
                seen.outputs = (value,) if seen.single else value
            except (Exception, SystemExit, TimeLimit) as error:
                seen.failure = describe(error, "call")
        facts, pairs = seen.facts, list(zip(tensors, old, strict=True))
        facts.inputs_edited = any(not same_tensor(t, value) for t, (value, _) in pairs)
        facts.requires_grad_changed = any(t.requires_grad != needed for t, (_, needed) in pairs)
        facts.leaf_grad_touched = any(t.is_leaf and t.grad is not None for t in tensors)
        facts.printed, facts.warnings, facts.state_changes = side.printed, side.warnings, side.state_changes
        return seen

    def _call_and_edit(self, given: Args, args: Args) -> None:
        """A first call on these tensors, then the values of `args` in the same tensors."""
        with guarded(), contextlib.suppress(Exception, SystemExit):
            self._call(self.target, given)
        with torch.no_grad():
            for mine, new in zip(_tensors_in(given), _tensors_in(args), strict=True):
                mine.copy_(new)

    @contextlib.contextmanager
    def watched(self, seconds: float) -> Iterator[list[str]]:
        with torch_unpatched() as patched, random_kept(), memory_limit(EXTRA_MEMORY), time_limit(seconds):
            yield patched

    def claims(self, rule: Literal["vmap", "jvp"]) -> bool:
        if not self.is_function:
            return False
        own = getattr(self.target, rule) is not getattr(Function, rule)
        return own or (rule == "vmap" and bool(self.target.generate_vmap_rule))

    def freed(self, args: Args) -> bool | None:
        """Whether the graph node of a call dies with its output, without the garbage collector's help."""
        enabled = gc.isenabled()
        gc.disable()
        try:
            node = self._node_of_call(args)
            return None if node is None else node() is None
        finally:
            if enabled:
                gc.enable()

    def _node_of_call(self, args: Args) -> weakref.ref[Any] | None:
        leaves = [_leaf(a, True) for a in args]
        if not self.is_function:
            return None
        outputs = as_tuple(self._call(self.target, tuple(leaves)))
        nodes = [o.grad_fn for o in outputs if isinstance(o, Tensor) and o.grad_fn is not None]
        return weakref.ref(nodes[0]) if nodes else None


class _Stop(Exception):
    """The run ended early; the observation says why."""


class _Run:
    """One probe being run: forward, what happens meanwhile, backward passes, second order."""

    leaves: list[Any]
    given: list[Any]

    def __init__(self, subject: LocalSubject, probe: Probe, seen: Observation) -> None:
        self.subject, self.probe, self.seen = subject, probe, seen

    def go(self) -> None:
        if self.probe.transform != "none":
            self._transformed()
            return
        if self.probe.ask_freed:
            with _stage(self.seen, "forward"):
                self.seen.facts.freed = self.subject.freed(self.probe.args)
            return
        if self.probe.before is None:
            self._make_inputs()
        else:
            self._edit_after_a_run(self.probe.before)
        self._forward()
        self._meanwhile()
        for upstream in self.probe.upstream:
            self._backward(upstream)
        # Copied only now: a gradient or output whose memory a later pass or call overwrites shows it.
        self.seen.grads = tuple(tuple(None if g is None else g.clone() for g in one) for one in self.seen.grads)
        if self.probe.meanwhile == "other_call":
            self.seen.outputs = tuple(o.detach().clone() for o in self.outputs)
        self.seen.facts.leaf_grad_touched = any(isinstance(a, Tensor) and a.grad is not None for a in self.leaves)
        if self.probe.second is not None:
            self._second_order()

    def _edit_after_a_run(self, before: Args) -> None:
        """A whole run on other values, then those of the probe in the same tensors."""
        first = _Run(self.subject, replace(self.probe, args=before, before=None, leaf=True), Observation())
        first.go()
        with torch.no_grad():
            for mine, new in zip(_tensors_in(first.leaves), _tensors_in(self.probe.args), strict=True):
                mine.copy_(new)
        self.subject.trace.reset()
        self.leaves = self.given = first.leaves
        self.before = [a.detach().clone() if isinstance(a, Tensor) else None for a in self.given]

    def _make_inputs(self) -> None:
        probe = self.probe
        wanted = probe.wanted or tuple(is_floating(a) for a in probe.args)
        moved = tuple(_to_device(a, probe.device) for a in probe.args)
        self.leaves = [_leaf(a, w) for a, w in zip(moved, wanted, strict=True)]
        if probe.leaf:
            self.given = list(self.leaves)
        else:
            self.given = [laid_out(a, probe.input_layout) if isinstance(a, Tensor) else a for a in self.leaves]
        self.before = [a.detach().clone() if isinstance(a, Tensor) else None for a in self.given]

    def _call(self, args: list[Any]) -> Any:
        return self.subject._call(self.subject.target, tuple(args))

    def _forward(self) -> None:
        wanted = [a for a in self.given if isinstance(a, Tensor) and a.requires_grad]
        self.beside = [torch.sin(a) for a in wanted] if self.probe.shared else []
        ask_saved = self.subject.is_function and self.probe.ask_saved
        before = _held_outside(self.subject.target) if ask_saved else []
        with _stage(self.seen, "forward"), torch.set_grad_enabled(self.probe.grad_enabled):
            value = self._call(self.given)
        self.outputs = as_tuple(value)
        seen, facts = self.seen, self.seen.facts
        seen.single = not isinstance(value, tuple)
        seen.not_tensors = tuple(type(o).__name__ for o in self.outputs if not isinstance(o, Tensor))
        seen.outputs = tuple(o.detach().clone() if isinstance(o, Tensor) else o for o in self.outputs)
        facts.requires_grad = tuple(isinstance(o, Tensor) and o.requires_grad for o in self.outputs)
        facts.inputs_edited = any(
            b is not None and not same_tensor(a, b) for a, b in zip(self.given, self.before, strict=True)
        )
        facts.output_is_input = _aliases(self.outputs, self.given)
        if ask_saved:
            ids = {id(t) for t in before}
            new = [t for t in _held_outside(self.subject.target) if id(t) not in ids]
            _note_saved(facts, self.outputs, self.given, new)
        if seen.not_tensors:
            seen.failure = Failure("forward", NOT_A_TENSOR, f"forward returned a {seen.not_tensors[0]}, not a tensor")
            raise _Stop

    def _meanwhile(self) -> None:
        what = self.probe.meanwhile
        if what == "edit_inputs":
            _edit([a for a in self.given if is_floating(a)])
        elif what == "edit_outputs":
            _edit([o for o in self.outputs if is_floating(o)])
        elif what == "other_call":
            with _stage(self.seen, "forward"):
                self.kept_alive = self._call(self._other_arguments())

    def _other_arguments(self) -> list[Any]:
        """The arguments of the other call; a tensor equal to one of this call is that very tensor."""
        mine = [a for a in self.given if isinstance(a, Tensor)]
        others = []
        for a in self.probe.other or ():
            same = [m for m in mine if isinstance(a, Tensor) and same_tensor(a, m.detach())]
            others.append(same[0] if same else _leaf(a, True))
        return others

    def _backward(self, upstream: Grads) -> None:
        wanted = [a for a in self.leaves if isinstance(a, Tensor) and a.requires_grad]
        pairs = [(o, g) for o, g in zip(self.outputs, upstream, strict=False) if g is not None]
        moved = [laid_out(_to_device(g, self.probe.device), self.probe.upstream_layout) for _, g in pairs]
        before = [g.clone() for g in moved]
        outputs = [o for o, _ in pairs] + self.beside
        gradients = moved + [torch.ones_like(o) for o in self.beside]
        with _stage(self.seen, "backward"):
            got = torch.autograd.grad(outputs, wanted, gradients, retain_graph=True, allow_unused=True)
        edited = any(not same_tensor(g, b) for g, b in zip(moved, before, strict=True))
        self.seen.facts.upstream_edited = self.seen.facts.upstream_edited or edited
        self.seen.grads += (self._per_argument(got),)

    def _per_argument(self, grads: tuple[Tensor | None, ...]) -> Grads:
        found = iter(grads)
        given = [next(found) if isinstance(a, Tensor) and a.requires_grad else None for a in self.leaves]
        return tuple(None if g is None else g.detach() for g in given)

    def _second_order(self) -> None:
        assert self.probe.second is not None
        self._make_inputs()
        self._forward()
        wanted = [a for a in self.leaves if isinstance(a, Tensor) and a.requires_grad]
        upstream = [None if g is None else _leaf(g, True) for g in self.probe.upstream[0]]
        pairs = [(o, g) for o, g in zip(self.outputs, upstream, strict=False) if g is not None]
        with _stage(self.seen, "backward"):
            grads = torch.autograd.grad(
                [o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True
            )
        cotangents = [
            None if c is None else c.clone()
            for a, c in zip(self.leaves, self.probe.second, strict=True)
            if isinstance(a, Tensor) and a.requires_grad
        ]
        chosen = [
            (g, c)
            for g, c in zip(grads, cotangents, strict=True)
            if g is not None and c is not None and g.requires_grad
        ]
        with _stage(self.seen, "second"):
            if chosen:
                torch.autograd.backward([g for g, _ in chosen], [c for _, c in chosen])
        self.seen.second = (_grads_of(self.leaves), _grads_of(upstream))

    def _transformed(self) -> None:
        args = [a.clone() if isinstance(a, Tensor) else a for a in self.probe.args]
        with _stage(self.seen, "forward"):
            if self.probe.transform == "vmap":
                dims = tuple(0 if w else None for w in self.probe.wanted or ())
                value = torch.func.vmap(lambda *a: self._call(list(a)), in_dims=dims)(*args)
            else:
                value = self._jvp(args)
        self.seen.outputs = as_tuple(value)

    def _jvp(self, args: list[Any]) -> Any:
        tangents = [None if t is None else t.clone() for t in self.probe.upstream[0]]
        places = [i for i, t in enumerate(tangents) if t is not None]

        def along(*tensors: Tensor) -> Any:
            full = list(args)
            for place, tensor in zip(places, tensors, strict=True):
                full[place] = tensor
            return self._call(full)

        primals = tuple(args[i] for i in places)
        return torch.func.jvp(along, primals, tuple(t for t in tangents if t is not None))[1]


@contextlib.contextmanager
def _stage(seen: Observation, stage: str) -> Iterator[None]:
    """Turn an exception of student code into the observation's failure and stop the run."""
    try:
        yield
    except (Exception, SystemExit, TimeLimit) as error:
        seen.failure = describe(error, stage)
        raise _Stop from None


def laid_out(t: Tensor, layout: Layout) -> Tensor:
    """A copy of t with the same values but another memory layout; differentiable, gaps are filled with NaN
    or -1."""
    if layout == "sliced":
        filler = float("nan") if t.is_floating_point() else False if t.dtype == torch.bool else -1
        return torch.stack([t, torch.full_like(t, filler)], dim=-1)[..., 0]
    if layout == "transposed" and t.dim() >= 2:
        return t.transpose(-1, -2).clone(memory_format=torch.contiguous_format).transpose(-1, -2)
    if layout == "expanded" and t.numel() > 0:
        return t.reshape(-1)[0].clone().expand(t.shape)
    return t.clone(memory_format=torch.contiguous_format)


def same_layout(t: Tensor, strides: Sequence[int]) -> Tensor:
    """A tensor of its own with the values of t and the given strides, in elements; 0 repeats one element."""
    narrow = t.detach()
    for d, stride in enumerate(strides):
        if stride == 0 and narrow.shape[d] > 1:
            narrow = narrow.narrow(d, 0, 1)
    memory = torch.empty_strided(narrow.shape, tuple(strides), dtype=t.dtype, device=t.device)
    return memory.copy_(narrow).expand(t.shape)


def _own(value: Any, layout: Layout | None = None) -> Any:
    """A leaf of the same values for a tensor, and for each in a tuple or list; those keep their memory layout."""
    if isinstance(value, Tensor):
        copy = same_layout(value, value.stride()) if layout is None else laid_out(value.detach(), layout)
        return copy.requires_grad_(value.requires_grad)
    if type(value) in (tuple, list):
        return type(value)(_own(item) for item in value)
    return value


@contextlib.contextmanager
def _gradcheck_counted(facts: Facts) -> Iterator[None]:
    """Count the uses of torch.autograd.gradcheck in the block, under whatever name it was imported."""
    module: Any = sys.modules["torch.autograd.gradcheck"]
    original = module._gradcheck_helper

    def counted(*args: Any, **kwargs: Any) -> Any:
        facts.torch_gradcheck_calls += 1
        return original(*args, **kwargs)

    module._gradcheck_helper = counted
    try:
        yield
    finally:
        module._gradcheck_helper = original


def what_is(thing: Any) -> Description:
    """What `thing` is, as a check needs to know it."""
    if isinstance(thing, type):
        kind = "function class" if issubclass(thing, Function) else "class"
    elif isinstance(thing, Function):
        kind = "instance"
    elif getattr(thing, "__name__", "") == "apply" and isinstance(getattr(thing, "__self__", None), type):
        kind = "apply"
    else:
        kind = "callable" if callable(thing) else "value"
    return Description(kind, type(thing).__name__)


def is_floating(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def same_tensor(a: Tensor, b: Tensor) -> bool:
    """Equal in shape and every value, NaN equal to NaN; tensors without data (meta) count as the same."""
    if a.device.type == "meta":
        return True
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    a = a.detach()
    return torch.equal(a, b) or torch.equal(a.nan_to_num(7.25), b.nan_to_num(7.25))


def _apply(target: Any, args: Args) -> Any:
    return target.apply(*args)


def _plain(target: Any, args: Args) -> Any:
    return target(*args)


def _to_device(value: Any, device: str) -> Any:
    return value.to(device) if isinstance(value, Tensor) else value


def _leaf(value: Any, wanted: bool) -> Any:
    if not isinstance(value, Tensor):
        return value
    return (
        value.detach().clone(memory_format=torch.contiguous_format).requires_grad_(wanted and value.is_floating_point())
    )


def _grads_of(tensors: list[Any]) -> Grads:
    return tuple(t.grad if isinstance(t, Tensor) else None for t in tensors)


def _edit(tensors: list[Tensor]) -> None:
    """Change every value in place, seen by autograd's version counters, as an in-place op of the next
    layer would."""
    with torch.no_grad():
        for t in tensors:
            t.copy_(edited(t))


def _aliases(outputs: tuple[Any, ...], given: list[Any]) -> bool:
    inputs = {a.untyped_storage()._cdata for a in given if isinstance(a, Tensor)}
    return any(isinstance(o, Tensor) and o.untyped_storage()._cdata in inputs for o in outputs)


def _note_saved(facts: Facts, outputs: tuple[Any, ...], given: list[Any], outside: list[Tensor]) -> None:
    """Note what is kept for backward: in the Function's node, as saved tensors and ctx attributes, and `outside` it."""
    nodes = [o.grad_fn for o in outputs if isinstance(o, Tensor) and o.grad_fn is not None]
    if not nodes:
        return
    tensors = [t for t in getattr(nodes[0], "saved_tensors", ()) if isinstance(t, Tensor)]
    tensors += [*_tensors_held(getattr(nodes[0], "__dict__", {})), *outside]
    storages: dict[int, Tensor] = {}
    for t in tensors:
        storages.setdefault(t.untyped_storage()._cdata, t)
    facts.saved_bytes = sum(t.untyped_storage().nbytes() for t in storages.values())
    facts.saved_floats = sum(t.is_floating_point() and t.numel() > 1 for t in storages.values())
    facts.saved = tuple(sorted(_known_as(t, outputs, given) for t in storages.values()))


def _held_outside(target: type[Function]) -> list[Tensor]:
    """Tensors in what the methods of a class could keep them in: its attributes, and globals that they name."""
    places: list[Any] = []
    for cls in target.__mro__[: target.__mro__.index(Function)]:
        for name, value in vars(cls).items():
            method = getattr(value, "__func__", value)
            if isinstance(method, FunctionType):
                places += [method.__globals__.get(named) for named in method.__code__.co_names]
            elif not name.startswith("__"):
                places.append(value)
    return _tensors_held(places)


def _tensors_held(value: Any) -> list[Tensor]:
    """The tensors reachable from an object: in containers, attributes, closures and partial functions."""
    found: dict[int, Tensor] = {}
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < 10_000:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (type, ModuleType, FrameType)):
            continue
        seen.add(id(item))
        if isinstance(item, Tensor):
            found[id(item)] = item
        elif isinstance(item, FunctionType):  # its globals are not its own
            waiting += [item.__closure__, item.__defaults__, item.__kwdefaults__]
        else:
            waiting += gc.get_referents(item)
    return list(found.values())


def _known_as(t: Tensor, outputs: tuple[Any, ...], given: list[Any]) -> str:
    """What a saved tensor is, by its values: an input, an output, or a tensor of some dtype."""
    for name, candidates in (("an input", given), ("the output", outputs)):
        if any(isinstance(c, Tensor) and c.shape == t.shape and same_tensor(t, c.detach()) for c in candidates):
            return name
    return f"a {str(t.dtype).removeprefix('torch.')} tensor of {t.numel()} elements"


def _tensors_in(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors_in(item)
