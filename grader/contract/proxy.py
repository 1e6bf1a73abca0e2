"""gradcheck through the seam: a Function in this process whose forward and backward are requests to a
Subject.

So torch's own gradcheck judges an implementation that lives elsewhere, and the process it lives in learns
nothing but the numbers it is asked to work on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from grader.subject import Args, Failure, Grads, Observation, Observer, Probe

__all__ = ["SubjectFailed", "proxied"]


class SubjectFailed(Exception):
    """Student code raised, or did not end, while gradcheck was asking for numbers."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def proxied(subject: Observer, args: Args) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """A function of the floating-point arguments alone, and those arguments as leaves that require grad."""
    places = [i for i, a in enumerate(args) if isinstance(a, Tensor) and a.is_floating_point()]
    leaves = tuple(args[i].detach().clone().requires_grad_() for i in places)

    def full(tensors: tuple[Tensor, ...]) -> Args:
        out = list(args)
        for place, tensor in zip(places, tensors, strict=True):
            out[place] = tensor.detach()
        return tuple(out)

    def at_places(grads: Grads) -> Grads:
        return tuple(grads[i] for i in places)

    def ask(probe: Probe) -> Observation:
        seen = subject.observe(probe)
        if seen.failure is not None:
            raise SubjectFailed(seen.failure)
        return seen

    class Forward(Function):
        @staticmethod
        def forward(ctx: Any, *tensors: Tensor) -> Any:
            ctx.save_for_backward(*tensors)
            seen = ask(Probe(full(tensors)))
            return seen.output if seen.single else seen.outputs

        @staticmethod
        def backward(ctx: Any, *upstream: Tensor) -> Any:
            return _apply(Vjp, len(upstream), *upstream, *ctx.saved_tensors)

    class Vjp(Function):
        @staticmethod
        def forward(ctx: Any, count: int, *both: Tensor) -> Any:
            ctx.count = count
            ctx.save_for_backward(*both)
            upstream, tensors = both[:count], both[count:]
            seen = ask(Probe(full(tensors), upstream=(tuple(g.detach() for g in upstream),)))
            return tuple(_zero_if_none(g, t) for g, t in zip(at_places(seen.grads[0]), tensors, strict=True))

        @staticmethod
        def backward(ctx: Any, *second: Tensor) -> Any:
            upstream, tensors = ctx.saved_tensors[: ctx.count], ctx.saved_tensors[ctx.count :]
            cotangents: list[Tensor | None] = [None] * len(args)
            for place, c in zip(places, second, strict=True):
                cotangents[place] = c.detach()
            seen = ask(Probe(full(tensors), upstream=(tuple(g.detach() for g in upstream),), second=tuple(cotangents)))
            assert seen.second is not None
            by_argument, by_upstream = seen.second
            return None, *by_upstream, *at_places(by_argument)

    return lambda *tensors: _apply(Forward, *tensors), leaves


def _apply(function: Any, *args: Any) -> Any:
    return function.apply(*args)


def _zero_if_none(grad: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if grad is None else grad
