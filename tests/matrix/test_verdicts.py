"""Every right implementation is accepted, every wrong one rejected, every misconception diagnosed by its own name."""

from __future__ import annotations

import pytest

from grader.matrix import Known
from tests.matrix.known import every, everything, row

SAMPLE = pytest.mark.parametrize("known", every(14), ids=lambda k: k.name)


def hold(known: Known) -> None:
    found = row(known)
    assert found.unjudged == (), "a check whose own inputs cannot reveal a fault"
    assert found.accepted == known.right, found.rejected_by or "no check rejects it"
    if known.origin in ("written", "derived"):
        assert found.diagnosis[:1] == (known.id,)


@SAMPLE
def test_verdict_and_diagnosis(known: Known) -> None:
    hold(known)


@pytest.mark.slow
@pytest.mark.parametrize("known", everything(), ids=lambda k: k.name)
def test_verdict_and_diagnosis_of_all(known: Known) -> None:
    hold(known)


def test_right_and_wrong_ones_are_there_for_every_exercise() -> None:
    by_exercise: dict[str, set[bool]] = {}
    for known in everything():
        by_exercise.setdefault(known.exercise.id, set()).add(known.right)
    assert [id for id, kinds in by_exercise.items() if kinds != {True, False}] == []


def test_names_are_unique_within_an_exercise() -> None:
    names = [(k.name, k.origin, k.right) for k in everything()]
    assert len(set(names)) == len(names)
