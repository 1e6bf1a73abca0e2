"""`grader check` on a file gives the verdict that the same code gets in process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.battery import PUBLIC_SEED
from grader.checking import verdict
from grader.cli import main
from grader.corpus import Case, cases, find

# Cases that are no Function but a composition have no class that the command could load.
CLASSES = [case for case in cases() if isinstance(case.thing, type)]
FAST = ["relu:mul_grad_output", "corpus/layernorm:weight_grad_mean", "scale_by:kwargs"]


def agree(case: Case, tmp_path: Path) -> None:
    exercise = find(case.exercise)
    file = tmp_path / "answer.py"
    file.write_text(case.file_text(exercise.symbol), encoding="utf-8")
    result = CliRunner().invoke(main, ["check", case.exercise, str(file), "--json", "--time-limit", "200"])
    assert result.exit_code == (0 if case.right else 1), result.output
    said, here = json.loads(result.stdout), verdict(exercise, case.thing, PUBLIC_SEED).to_dict()
    assert failing(said) == failing(here)
    assert (said["passed"], said["points"], said["diagnosis"]) == (here["passed"], here["points"], here["diagnosis"])


def failing(report: dict[str, object]) -> list[str]:
    findings = report["findings"]
    assert isinstance(findings, list)
    return [f["check"] for f in findings if not f["passed"]]


@pytest.mark.parametrize("case", [c for c in CLASSES if c.id in FAST], ids=lambda c: c.id)
def test_same_verdict(case: Case, tmp_path: Path) -> None:
    agree(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", CLASSES[::5], ids=lambda c: c.id)
def test_same_verdict_of_many(case: Case, tmp_path: Path) -> None:
    agree(case, tmp_path)


def test_an_unknown_exercise_of_the_corpus_is_named(tmp_path: Path) -> None:
    file = tmp_path / "answer.py"
    file.write_text("", encoding="utf-8")
    result = CliRunner().invoke(main, ["check", "corpus/layer_norm", str(file)])
    assert result.exit_code == 2
    assert "corpus/layernorm" in result.stderr
