"""How an exercise of the corpus is put together; shared by the modules in `grader/corpus/specs/`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.contract.check import Check
from grader.exercise import Args, Contract, Exercise, Reference
from grader.inputs import Inputs

__all__ = ["operation", "vector"]


def operation(
    name: str,
    forward: Callable[..., Any],
    vjp: Callable[..., Args],
    inputs: Inputs,
    *,
    contract: Contract = Contract(),  # noqa: B008  (frozen)
    outputs: int = 1,
    checks: tuple[Check, ...] = (),
    not_derived: tuple[str, ...] = (),
) -> Exercise:
    """The exercise `corpus/<name>`: nothing but right values and the general contract is asked."""
    return Exercise(
        id=f"corpus/{name}",
        lesson="corpus",
        title=name,
        symbol="".join(part.capitalize() for part in name.split("_")),
        kind="function",
        points=10,
        reference=Reference(forward, vjp),
        inputs=inputs,
        outputs=outputs,
        contract=contract,
        checks=checks,
        not_derived=not_derived,
    )


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
