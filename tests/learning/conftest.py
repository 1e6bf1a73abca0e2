"""A miniature course of two lessons, and an empty learner's folder to be in."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.autograd import Function

import grader.exercises
from grader.exercise import Exercise, Reference, by_id
from grader.inputs import elementwise
from grader.learning import journal


def make_exercise(
    id: str, lesson: str, *, symbol: str, points: int = 2, hints: tuple[str, ...] = ()
) -> Exercise:
    return Exercise(
        id=id,
        lesson=lesson,
        title=f"Title of {id}",
        symbol=symbol,
        kind="function",
        points=points,
        reference=Reference(forward=lambda x: 2 * x, vjp=lambda g, x: (2 * g,)),
        inputs=elementwise(),
        hints=hints,
    )


@pytest.fixture(scope="session")
def exercises() -> dict[str, Exercise]:
    """Made once: deriving their misconceptions takes a moment."""
    exercises = by_id(
        [
            make_exercise(
                "relu", "02_relu", symbol="MyReLU", points=4, hints=("first", "second `a < b`", "third")
            ),
            make_exercise("swish", "02_relu", symbol="Swish", points=3),
            make_exercise("sign_clipped", "03_straight_through", symbol="SignSTE", hints=("only",)),
        ]
    )

    @exercises["relu"].misconception("half_mask", "You mask only half of it.")
    class HalfMask(Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return 2 * x

    @exercises["sign_clipped"].misconception("half_mask", "Half of the window is missing.")
    class HalfWindow(HalfMask):
        pass

    return exercises


@pytest.fixture(autouse=True)
def course(exercises: dict[str, Exercise], monkeypatch: pytest.MonkeyPatch) -> dict[str, Exercise]:
    """The miniature course in place of the real one."""
    monkeypatch.setattr(grader.exercises, "catalogue", lambda: exercises)
    return exercises


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A learner's folder with a notebook in it, as the current folder; nothing remembered in this process."""
    monkeypatch.delenv("GRADER_CLASS_SECRET", raising=False)
    monkeypatch.setattr(journal, "_unrecorded", [])
    monkeypatch.setattr(journal, "_said", set())
    (tmp_path / "02_relu.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path
