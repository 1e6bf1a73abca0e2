"""`grade`, the line of a hidden test cell."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch.autograd import Function

from grader import hidden
from grader.exercises import catalogue, get
from grader.grading.outputs import MIME
from grader.hidden import class_seed, collected, grade
from grader.report import Report


class Identity(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return g * 1


def raising(*_: Any) -> Any:
    raise KeyError("no")


@pytest.fixture
def seeds(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds that verdicts were asked for; nothing is judged."""
    asked: list[int] = []

    def verdict(exercise: Any, thing: Any, seed: int) -> Report:
        asked.append(seed)
        return Report(exercise.id, exercise.title, False, 1.37, exercise.points, ())

    monkeypatch.setattr(hidden, "verdict", verdict)
    return asked


def test_points_come_back_and_the_report_is_printed(
    right_relu: type[Function], capsys: pytest.CaptureFixture[str]
) -> None:
    points = grade("relu", right_relu)
    assert (type(points), points) == (float, 4.0)
    out, err = capsys.readouterr()
    assert out == "✓ ReLU by hand: right, 4 of 4 points\n"
    assert err == ""


@pytest.mark.parametrize("thing", [None, 3, Identity, raising, object(), torch.relu, Identity.apply])
@pytest.mark.parametrize("id", ["relu", "vjp_square"])
def test_whatever_it_gets_is_a_number_within_the_points(
    id: str, thing: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    points = grade(id, thing)
    assert type(points) is float
    assert 0 <= points < get(id).points
    assert round(points, 2) == points
    out, err = capsys.readouterr()
    assert out.startswith("✗ ")
    assert err == ""


def test_how_to_repeat_a_failure_stays_secret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "a secret")
    grade("relu", Identity)
    assert "run:" not in capsys.readouterr().out


def test_a_seed_repeats_and_depends_on_secret_and_exercise(
    seeds: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for secret in ("one", "one", "two"):
        monkeypatch.setenv("GRADER_CLASS_SECRET", secret)
        assert grade("relu", Identity) == 1.37
    grade("cube", Identity)
    monkeypatch.delenv("GRADER_CLASS_SECRET")
    grade("relu", Identity)
    assert seeds[0] == seeds[1]
    assert len(set(seeds)) == 4


def test_no_two_exercises_of_a_class_share_a_seed() -> None:
    seeds = {class_seed(secret, id) for secret in ("", "a", "b") for id in catalogue()}
    assert len(seeds) == 3 * len(catalogue())
    assert all(0 <= seed < 2**56 for seed in seeds)


def test_the_same_secret_gives_the_same_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "a secret")
    with collected() as reports:
        grade("relu", Identity)
        grade("relu", Identity)
    (first, thing), again = reports
    assert (first, Identity) == (first, thing) == again
    monkeypatch.setenv("GRADER_CLASS_SECRET", "another")
    with collected() as others:
        grade("relu", Identity)
    ((other, _),) = others
    assert [f.check for f in other.failed] == [f.check for f in first.failed]
    assert other.failed[0].message != first.failed[0].message, "other numbers were used"


def test_a_notebook_gets_the_verdict_as_data(monkeypatch: pytest.MonkeyPatch, seeds: list[int]) -> None:
    import IPython.core.getipython
    import IPython.display

    shown: list[tuple[Any, Any]] = []
    monkeypatch.setattr(IPython.core.getipython, "get_ipython", object)
    monkeypatch.setattr(IPython.display, "display", lambda data, raw: shown.append((data, raw)))
    grade("relu", Identity)
    ((data, raw),) = shown
    assert raw
    assert set(data) == {MIME, "text/plain"}
    assert json.loads(json.dumps(data[MIME])) == {
        "exercise": "relu",
        "passed": False,
        "points": 1.37,
        "out_of": 4,
        "findings": [],
        "diagnosis": [],
    }


def test_reports_can_be_collected_instead(right_relu: type[Function]) -> None:
    with collected() as reports:
        grade("relu", right_relu)
    assert [(r.exercise, r.passed) for r, _ in reports] == [("relu", True)]
