"""Watching a student's Function: a subclass whose backward notes what goes in and out, without changing
it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.utils._python_dispatch import TorchDispatchMode

from grader.subject import Returned

__all__ = ["Trace", "traced"]

_ENGINE = "_engine_run_backward"


class Trace:
    """What was seen since the last reset."""

    def __init__(self) -> None:
        self.reset()

    def reset(self, *, ask_autograd: bool = False) -> None:
        self.ask_autograd = ask_autograd
        self.backward_calls = 0
        self.inner_autograd = 0
        self.upstream_edited = False
        self.attributes: tuple[str, ...] = ()
        self.returned: list[Returned] = []

    @contextlib.contextmanager
    def inside_backward(self) -> Iterator[None]:
        """Count runs of the autograd engine started from inside a student's backward, and, if asked, what they are
        made of: whoever calls a graph's node by hand does not need the engine."""
        space = vars(torch.autograd)  # where torch.autograd.grad and backward look the engine up
        engine = space[_ENGINE]

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.inner_autograd += 1
            return engine(*args, **kwargs)

        space[_ENGINE] = counted
        try:
            with _Differentiation(self) if self.ask_autograd else contextlib.nullcontext():
                yield
        finally:
            space[_ENGINE] = engine


class _Differentiation(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts operations that are PyTorch's own backward of another (`silu_backward`), and those that are recorded in a
    graph where the backward that is watched began without one."""

    def __init__(self, trace: Trace) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trace, self.recorded = trace, torch.is_grad_enabled()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorded = not self.recorded and torch.is_grad_enabled() and any(map(_wants_grad, (*args, *kwargs.values())))
        self.trace.inner_autograd += recorded or "_backward" in func.overloadpacket.__name__
        return func(*args, **kwargs)


def _wants_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def traced(cls: type[Function], trace: Trace) -> type[Function]:
    """A subclass of `cls` of the same name whose backward reports to `trace`."""
    original = cls.backward

    def backward(ctx: Any, *upstream: Any) -> Any:
        trace.backward_calls += 1
        versions = [g._version if isinstance(g, Tensor) else 0 for g in upstream]
        with trace.inside_backward():
            raw = original(ctx, *upstream)
        now = [g._version if isinstance(g, Tensor) else 0 for g in upstream]
        trace.upstream_edited = trace.upstream_edited or now != versions
        trace.returned.append(_describe(raw))
        trace.attributes = tuple(sorted(vars(ctx))) if hasattr(ctx, "__dict__") else ()
        return raw

    if cls.backward is Function.backward:
        return cls
    return type(cls.__name__, (cls,), {"backward": staticmethod(backward), "__doc__": cls.__doc__})


def _describe(raw: Any) -> Returned:
    items = raw if isinstance(raw, (tuple, list)) else (raw,)
    return Returned(type(raw).__name__, tuple(_item(i) for i in items))


def _item(item: Any) -> tuple[str, tuple[int, ...] | None, str | None]:
    if isinstance(item, Tensor):
        return "tensor", tuple(item.shape), str(item.dtype).removeprefix("torch.")
    return ("None" if item is None else type(item).__name__), None, None
