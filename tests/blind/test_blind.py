"""Implementations that were written without sight of the checks: the right ones pass, the wrong ones do not.

One file each in right/ and wrong/, named after its exercise; its first line says what is unusual or wrong about it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import exercises
from grader.battery import PUBLIC_SEED
from grader.checking import verdict
from grader.hidden import class_seed
from grader.loading import load_symbol
from grader.report import Report

HERE = Path(__file__).parent


def files(kind: str) -> list[Path]:
    found = sorted((HERE / kind).glob("*.py"))
    assert len(found) >= 20, "the set has gone missing"
    return found


def judged(path: Path, seed: int) -> Report:
    exercise = exercises.get(path.stem.split("_", 1)[1])
    return verdict(exercise, load_symbol(path, exercise.symbol), seed, diagnose=False)


@pytest.mark.parametrize("path", files("right"), ids=lambda p: p.stem)
def test_right_ones_get_full_points(path: Path) -> None:
    for seed in (PUBLIC_SEED, class_seed("a secret", path.stem)):
        report = judged(path, seed)
        assert report.passed, report.text()
        assert report.points == report.out_of


@pytest.mark.parametrize("path", files("wrong"), ids=lambda p: p.stem)
def test_wrong_ones_are_rejected(path: Path) -> None:
    for seed in (PUBLIC_SEED, class_seed("a secret", path.stem)):
        assert not judged(path, seed).passed, path.read_text().splitlines()[0]
