"""A verdict through the wire is the verdict here, to the last word: on right answers and on every known mistake."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.checking import verdict
from grader.exercise import Exercise, Implementation
from grader.exercises import catalogue
from grader.grading.session import Submission
from grader.local import LocalSubject
from grader.subject import Probe
from grader.where.find import find_where
from tests.grading.conftest import IMPORTS
from tests.grading.known import EVERY, as_cell, defined_here

SEED = 77
SHOWN = ("times_input", "bias_averaged", "plain_sum")  # mistakes that have a picture
# Exercises that use the seam in different ways.
SAMPLE = ("relu_mask", "vjp_softmax", "ste_detach", "my_gradcheck", "choose_inputs", "fix_norm")


def compare(submission: Callable[..., Submission], exercise: Exercise, known: Implementation) -> None:
    one = submission(seconds=1000.0)
    one.run(known.source or "", as_cell(known))
    here = verdict(exercise, defined_here(known, exercise.symbol, IMPORTS), SEED)
    there = verdict(exercise, one.find(exercise.symbol), SEED)
    assert there.to_dict() == here.to_dict()
    assert there == here


@pytest.mark.parametrize("id", SAMPLE)
def test_same_verdict_on_a_mistake_and_a_right_answer(submission: Callable[..., Submission], id: str) -> None:
    known = [(e, k) for e, k in EVERY if e.id == id]
    for exercise, one in (known[0], known[-1]):
        compare(submission, exercise, one)


def test_probes_asked_together_are_answered_as_here(submission: Callable[..., Submission]) -> None:
    source = """
class Odd(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() > 1:
            raise ValueError("only vectors")
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        torch.add = None
        return 2 * g
"""
    x = torch.tensor([1.0, float("nan")])
    probes = [Probe((x,)), Probe((2 * x,), upstream=((x,),)), Probe((torch.ones(2, 2),)), Probe((x,))]
    there = submission(source).find("Odd").subject()
    with there.watched(10.0) as replaced:
        seen = there.observe_each(probes)
        assert there.observe_each([]) == []
    assert replaced == ["torch.add"]
    assert [None if s.failure is None else s.failure.message for s in seen] == [None, None, "only vectors"]
    assert seen[1].output.tolist()[0] == 4.0
    with there.watched(10.0) as replaced:
        there.observe_each(probes[:1])
    assert replaced == [], "it was undone"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("id", catalogue())
def test_same_verdict_on_all(submission: Callable[..., Submission], id: str) -> None:
    for exercise, known in EVERY:
        if exercise.id == id:
            compare(submission, exercise, known)


@pytest.mark.parametrize("id", ["relu", "linear", "vjp_softmax"])
def test_the_same_picture(submission: Callable[..., Submission], id: str) -> None:
    exercise, known = next((e, k) for e, k in EVERY if e.id == id and k.id in SHOWN)
    one = submission(seconds=1000.0)
    one.run(known.source or "", as_cell(known))
    here = defined_here(known, exercise.symbol, IMPORTS)
    report = verdict(exercise, here, SEED, diagnose=False)
    there = find_where(exercise, one.find(exercise.symbol).subject(), report)
    assert there is not None
    assert there == find_where(exercise, LocalSubject(here), report)
