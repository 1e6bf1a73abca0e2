"""Functions as arguments: the host gets a stand-in that asks the trusted process to run the real one.

Each request is complete in itself: the arguments, and for a vector-Jacobian product (VJP) the upstream gradient.
The trusted side runs its own function on tensors that student code chose; what goes wrong is an error for that code.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

__all__ = ["Ask", "apply", "stand_in", "vjp"]

Ask = Callable[[bool, int, tuple[Any, ...]], Any]
"""(is it a VJP, index of the function, value to send) -> the answer."""


# ---- the trusted side ------------------------------------------------------------------------------------------------


def apply(function: Callable[..., Any], request: tuple[Any, ...]) -> tuple[Any, ...]:
    """(True, output or outputs, which of them require grad) or (False, type and text of the error)."""
    try:
        outputs = _run(function, request)
        single = not isinstance(outputs, tuple)
        needed = tuple(isinstance(o, Tensor) and o.requires_grad for o in ((outputs,) if single else outputs))
        return True, _detached(outputs), needed
    except Exception as error:
        return False, type(error).__name__, str(error)[:1000]


def vjp(function: Callable[..., Any], request: tuple[Any, ...]) -> tuple[Any, ...]:
    """(True, one gradient or None per argument) or (False, type and text of the error)."""
    try:
        *given, upstream = request
        args = _leaves(tuple(given))
        with torch.enable_grad():
            outputs = function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [(o, g) for o, g in zip(outputs, upstream, strict=True) if g is not None and o.requires_grad]
        wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        found = iter(
            torch.autograd.grad([o for o, _ in pairs], wanted, [g for _, g in pairs], allow_unused=True)
            if pairs
            else [None] * len(wanted)
        )
        return True, tuple(next(found) if isinstance(a, Tensor) and a.requires_grad else None for a in args)
    except Exception as error:
        return False, type(error).__name__, str(error)[:1000]


def _run(function: Callable[..., Any], request: tuple[Any, ...]) -> Any:
    args = _leaves(request)
    with torch.set_grad_enabled(any(isinstance(a, Tensor) and a.requires_grad for a in args)):
        return function(*args)


def _leaves(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """As a layer in the middle of a net gets them: no leaves, so that in-place operations are allowed."""
    return tuple(a.view_as(a) if isinstance(a, Tensor) and a.requires_grad else a for a in args)


def _detached(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_detached(v) for v in value)
    return value.detach() if isinstance(value, Tensor) else value


# ---- the host's side -------------------------------------------------------------------------------------------------


def stand_in(index: int, ask: Ask) -> Callable[..., Any]:
    """The function that the host gives to student code for function `index` of the request."""

    class Asked(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.args = args  # a leaf kept on ctx makes no cycle, and nobody measures what this saves
            needed = ctx.needs_input_grad
            sent = tuple(_marked(a, n) for a, n in zip(args, needed, strict=True))
            outputs, require = _answered(ask(False, index, sent))
            given = outputs if isinstance(outputs, tuple) else (outputs,)
            fixed = [o for o, r in zip(given, require, strict=True) if isinstance(o, Tensor) and not r]
            ctx.mark_non_differentiable(*fixed)
            return outputs

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, *upstream: Any) -> Any:
            sent = tuple(_marked(a, n) for a, n in zip(ctx.args, ctx.needs_input_grad, strict=True))
            (found,) = _answered(ask(True, index, (*sent, tuple(upstream))))
            return found

    def function(*args: Any) -> Any:
        return Asked.apply(*args)  # type: ignore[no-untyped-call]

    return function


def _marked(value: Any, needed: bool) -> Any:
    return value.detach().requires_grad_(needed) if isinstance(value, Tensor) else value


def _answered(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    good, *rest = answer
    if not good:
        name, message = rest
        kind = getattr(builtins, name, RuntimeError)
        raise (kind if isinstance(kind, type) and issubclass(kind, Exception) else RuntimeError)(message)
    return tuple(rest)
