"""A check whose inputs could not have shown the fault says so, and costs nobody a point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

from grader.battery import judge, run_checks
from grader.contract.bench import Bench
from grader.contract.check import Failed, check, must_reveal
from grader.errors import GraderError, IllPosedTest
from grader.exercise import Exercise
from grader.exercises import get
from grader.inputs import Sample
from grader.local import LocalSubject

RELU = get("relu")


class Zeros(Function):
    """Right where ReLU blocks everything, wrong elsewhere."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return torch.zeros_like(g)


def with_inputs(**changes: Any) -> Exercise:
    return replace(RELU, inputs=replace(RELU.inputs, **changes))


BLOCKED = with_inputs(generic=lambda draw: (-1 - draw.uniform(*draw.shape(2)),))
OVERFLOWS = replace(
    get("cube"),
    inputs=replace(get("cube").inputs, extreme=(Sample("huge", (torch.tensor([1e200], dtype=torch.float64),)),)),
)


@pytest.mark.parametrize("id", ["vjp", "upstream_linearity"])
def test_gradients_that_are_all_zero_reveal_nothing(id: str) -> None:
    outcome = run_checks(BLOCKED, LocalSubject(Zeros), 1)
    assert [text for text in outcome.unjudged if text.startswith(f"{id}: ")] != []
    assert id not in {f.check for f in outcome.findings}


@pytest.mark.parametrize("id", ["forward_extreme", "extreme_gradient"])
def test_a_reference_that_overflows_itself_reveals_nothing(id: str) -> None:
    (right, *_) = OVERFLOWS.variants
    outcome = run_checks(OVERFLOWS, LocalSubject(right.thing), 1)
    assert [text.split(":")[0] for text in outcome.unjudged] == ["forward_extreme", "extreme_gradient"]
    assert id not in {f.check for f in outcome.findings}


def test_no_points_are_lost_and_the_report_says_so(right_relu: type[Function]) -> None:
    report = judge(BLOCKED, LocalSubject(right_relu))
    assert (report.passed, report.points) == (True, RELU.points)
    assert any(text.startswith("vjp: the test's own inputs cannot reveal the fault") for text in report.unjudged)
    assert "not judged: vjp" in report.text()
    assert "vjp: the test" in report.html()


def test_no_points_are_lost_where_another_check_fails() -> None:
    """The stage of an unjudged check still counts as passed for what other checks found."""

    @check("always_no", stage="contract")
    def always_no(bench: Bench) -> None:
        """Catches everything. Cannot pass."""
        raise Failed("no")

    report = judge(replace(BLOCKED, checks=(always_no,)), LocalSubject(get("relu").variants[0].thing))
    assert report.points == round(RELU.points * (1 - RELU.stages["contract"]), 2)


def test_ordinary_inputs_of_the_course_are_not_refused(right_relu: type[Function]) -> None:
    assert judge(RELU, LocalSubject(right_relu)).unjudged == ()


def test_the_refusal_is_an_error_of_ours_not_of_the_student() -> None:
    must_reveal(True, "fine")
    with pytest.raises(IllPosedTest, match=r"own inputs cannot reveal the fault: all zero") as caught:
        must_reveal(False, "all zero")
    assert isinstance(caught.value, GraderError)


def test_a_check_without_a_docstring_is_refused() -> None:
    def silent(bench: Bench) -> None:
        pass

    with pytest.raises(ValueError, match="has no docstring"):
        check("silent", stage="contract")(silent)
