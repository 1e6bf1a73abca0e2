"""Points: each stage earns its share when its checks, and those of the stages before, pass."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

from grader.battery import Outcome, checks_of, judge, points_of
from grader.exercise import Exercise
from grader.exercises import catalogue, get
from grader.local import LocalSubject
from grader.report import Finding

CUBE = get("cube")  # stages: the usual ones


def points(exercise: Exercise, *failing: str, **outcome: Any) -> float:
    findings = [Finding(c.id, c.id not in failing) for c in checks_of(exercise)]
    return points_of(exercise, Outcome(findings, **outcome))


def share(exercise: Exercise, *stages: str) -> float:
    return round(exercise.points * sum(exercise.stages.get(s, 0.0) for s in stages), 2)


def test_all_checks_earn_all_points() -> None:
    for exercise in catalogue().values():
        assert points(exercise) == exercise.points, exercise.id


def test_stages_build_on_each_other() -> None:
    assert points(CUBE, "device") == share(CUBE, "forward", "gradient")
    assert points(CUBE, "vjp") == share(CUBE, "forward")
    assert points(CUBE, "forward") == 0.0
    assert points(CUBE, "vjp", "device") == share(CUBE, "forward")


def test_a_check_that_was_not_reached_earns_nothing() -> None:
    reached = Outcome([Finding("forward", True)], complete=False)
    assert points_of(CUBE, reached) == share(CUBE, "forward")


def test_a_check_that_could_not_judge_costs_nothing() -> None:
    findings = [Finding(c.id, True) for c in checks_of(CUBE) if c.id != "vjp"]
    assert points_of(CUBE, Outcome(findings)) == share(CUBE, "forward")
    assert points_of(CUBE, Outcome(findings, unjudged=["vjp: every expected gradient is zero"])) == CUBE.points


def test_an_unwritten_exercise_earns_nothing() -> None:
    assert points(CUBE, started=False) == 0.0


def test_every_stage_with_a_share_has_checks_and_the_shares_make_one() -> None:
    for exercise in catalogue().values():
        assert sum(exercise.stages.values()) == pytest.approx(1.0), exercise.id
        assert {s for s, part in exercise.stages.items() if part} <= {c.stage for c in checks_of(exercise)}, exercise.id


class RightForward(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return -g


class LeaksItsInput(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.x = x
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return 3 * ctx.x**2 * g


def test_real_answers_earn_what_they_got_right() -> None:
    assert judge(CUBE, LocalSubject(RightForward), diagnose=False).points == share(CUBE, "forward")
    assert judge(CUBE, LocalSubject(LeaksItsInput), diagnose=False).points == share(CUBE, "forward", "gradient")


class RightForTwentyCalls(Function):
    """Its backward is right as long as a short battery would last."""

    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        RightForTwentyCalls.calls += 1
        return g * (x > 0) if RightForTwentyCalls.calls <= LIMIT else g


LIMIT = 20


@pytest.mark.parametrize("limit", [5, 20, 24, 30])
def test_values_that_are_right_for_the_first_calls_only_earn_nothing(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.LIMIT", limit)
    monkeypatch.setattr(RightForTwentyCalls, "calls", 0)
    report = judge(get("relu"), LocalSubject(RightForTwentyCalls), 7)
    assert not report.passed
    assert report.points == share(get("relu"), "forward")
    assert "vjp" in {finding.check for finding in report.failed} or limit == 5
