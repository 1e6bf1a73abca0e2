"""No verdict depends on the seed."""

from __future__ import annotations

import pytest

from grader.matrix import Known
from tests.matrix.known import accepted, every, everything


@pytest.mark.parametrize("known", every(24, 4), ids=lambda k: k.name)
def test_two_more_seeds(known: Known) -> None:
    assert [accepted(known, seed) for seed in (1, 2)] == [known.right] * 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("known", everything(), ids=lambda k: k.name)
def test_fifty_seeds(known: Known) -> None:
    assert [seed for seed in range(50) if accepted(known, seed) != known.right] == []
