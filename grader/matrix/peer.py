"""The peer: what torch.autograd.gradcheck alone, with its defaults, says of an implementation."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from grader.battery import PUBLIC_SEED
from grader.contract.bench import Bench
from grader.exercise import Exercise
from grader.guard import TimeLimit, guarded, time_limit
from grader.local import LocalSubject

__all__ = ["Peer", "gradcheck_alone"]

Peer = Literal["accepts", "rejects", ""]


def gradcheck_alone(exercise: Exercise, thing: Any) -> Peer:
    """The verdict of gradcheck on one honest float64 sample; "" for plain functions, surrogates and random outputs.

    A surrogate differs from the true derivative on purpose, and a random output from one call to the next: gradcheck
    rejects right and wrong ones alike.
    """
    if exercise.kind != "function" or exercise.contract.surrogate or exercise.contract.random:
        return ""
    args = Bench(exercise, LocalSubject(None), PUBLIC_SEED, "peer").generic(small=True)
    leaves = tuple(_leaf(a) for a in args)
    call = thing.apply if hasattr(thing, "apply") else thing
    with guarded(), time_limit(20.0):
        try:
            return "accepts" if torch.autograd.gradcheck(call, leaves) else "rejects"
        except (Exception, TimeLimit):
            return "rejects"


def _leaf(value: Any) -> Any:
    return value.clone().requires_grad_() if isinstance(value, Tensor) and value.is_floating_point() else value
