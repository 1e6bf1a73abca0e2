"""Processes for submissions without a sandbox: the sandbox has tests of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from grader.grading.level import Level
from grader.grading.session import Submission
from grader.grading.warm import Warm

IMPORTS = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from grader import check
"""


@pytest.fixture(scope="module")
def warm() -> Iterator[Warm]:
    with Warm(Level("none")) as warm:
        yield warm


@pytest.fixture
def submission(warm: Warm) -> Iterator[Callable[..., Submission]]:
    """Starts a submission that has run the lessons' imports and the given cells."""
    started: list[Submission] = []

    def start(*cells: str, **options: float) -> Submission:
        made = Submission(warm.fork, **options)  # type: ignore[arg-type]
        started.append(made)
        for source in (IMPORTS, *cells):
            made.run(source)
        return made

    yield start
    for made in started:
        made.close()
