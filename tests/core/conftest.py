"""Right and wrong answers that several of these tests hand in, and what must stay as it was around them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function


class RightReLU(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return g * (x > 0)


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` remembers what was tried; the tests' tries go nowhere else."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def right_relu() -> type[Function]:
    return RightReLU


def global_state() -> dict[str, Any]:
    """What student code could leave changed behind it."""
    import random
    import signal

    import numpy as np

    return {
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "grad": torch.is_grad_enabled(),
        "seed": torch.initial_seed(),
        "numbers": torch.get_rng_state().tolist(),
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tolist(),  # type: ignore[index]
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "anomaly": torch.is_anomaly_enabled(),
        "streams": (sys.stdout, sys.stderr),
        "handlers": [signal.getsignal(n) for n in (signal.SIGALRM, signal.SIGPROF)],
        "torch": [torch.isclose, torch.equal, torch.autograd.gradcheck, torch.Tensor.equal, torch.nn.functional.relu],
    }


@pytest.fixture
def untouched() -> Iterator[None]:
    """Fails where the test leaves the global state changed."""
    before = global_state()
    yield
    after = global_state()
    assert [name for name in before if before[name] != after[name]] == []
