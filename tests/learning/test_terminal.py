"""`grader progress` and `grader restore`, as commands."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import grader.exercises
from grader.cli import main
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.workspace import find_lessons

REAL = grader.exercises.catalogue()


@pytest.fixture(autouse=True)
def course(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exercise]:
    """The real course in place of the miniature one."""
    monkeypatch.setattr(grader.exercises, "catalogue", lambda: REAL)
    return REAL


@pytest.fixture
def worked(folder: Path) -> Path:
    """A learner's folder in which two exercises were checked."""
    for id, passed, mistake in (("double", True, []), ("relu", False, ["no_upstream"])):
        points = float(REAL[id].points) if passed else 0.5
        event = {"kind": "check", "exercise": id, "passed": passed, "points": points, "diagnosis": mistake}
        journal.append(event)
    return folder


def grader_(*words: str, answer: str = "") -> Result:
    return CliRunner().invoke(main, list(words), input=answer)


def test_progress_as_text_and_json(worked: Path) -> None:
    shown = grader_("progress")
    assert shown.exit_code == 0
    assert "1 of 29 exercises passed, 1.5 of 97 points" in shown.output
    assert "tried once, last mistake: no_upstream" in shown.output
    assert "Next: relu in 02_relu" in shown.output
    content = json.loads(grader_("progress", "--json").output)
    assert (content["passed"], content["exercises"], content["points"], content["next"]) == (1, 29, 1.5, "relu")
    rows = {row["exercise"]: row for lesson in content["lessons"] for row in lesson["exercises"]}
    assert list(rows) == list(REAL)
    assert rows["relu"]["last_mistake"] == "no_upstream"


def test_export_to_csv_and_json(worked: Path, tmp_path: Path) -> None:
    assert grader_("progress", "--export", "mine.csv").exit_code == 0
    with open("mine.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["exercise"] for row in rows] == list(REAL)
    assert {row["exercise"]: row["state"] for row in rows}["double"] == "passed"
    assert grader_("progress", "--export", "mine.json").exit_code == 0
    assert json.loads(Path("mine.json").read_text()) == json.loads(grader_("progress", "--json").output)
    refused = grader_("progress", "--export", "mine.xls")
    assert refused.exit_code == 2
    assert "ends in .csv or .json" in refused.output


def test_reset_asks_and_undo_takes_it_back(worked: Path) -> None:
    assert "Nothing was changed" in grader_("progress", "--reset", "all", answer="n\n").output
    assert "1 of 29" in grader_("progress").output
    assert "--undo all" in grader_("progress", "--reset", "all", answer="y\n").output
    assert "0 of 29" in grader_("progress").output
    assert grader_("progress", "--undo", "00_start_here").exit_code == 0
    assert "1 of 29 exercises passed, 1 of 97" in grader_("progress").output
    assert grader_("progress", "--reset", "double", "--yes").exit_code == 0
    assert "0 of 29" in grader_("progress").output
    assert "Did you mean" in grader_("progress", "--reset", "dubble", "--yes").output


def test_folder_is_here_or_my_course_or_named(worked: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    refused = grader_("progress")
    assert refused.exit_code == 2
    assert "no course folder" in refused.output
    (elsewhere / "my-course").mkdir()
    shutil.copytree(worked / ".grader", elsewhere / "my-course" / ".grader")
    assert "1 of 29" in grader_("progress").output
    assert "1 of 29" in grader_("progress", str(worked)).output
    assert Path.cwd() == elsewhere


def test_restore_list_and_undo(worked: Path) -> None:
    shutil.copy(find_lessons() / "02_relu.ipynb", worked)
    path = worked / "02_relu.ipynb"
    stub = path.read_bytes()
    assert "is the stub already" in grader_("restore", "relu").output
    path.write_bytes(stub.replace(b"y = x.clamp(min=0)", b"y = x.clamp(0)"))
    mine = path.read_bytes()
    assert mine != stub
    shown = grader_("restore", "MyReLU").output
    assert "Undo: grader restore relu --undo" in shown
    assert "Reload Notebook from Disk" in shown
    assert path.read_bytes() == stub
    assert "relu-001.py" in grader_("restore", "relu", "--list").output
    assert grader_("restore", "relu", "--undo", "--notebook", str(path)).exit_code == 0
    assert path.read_bytes() == mine
    assert "No earlier text of swish" in grader_("restore", "swish", "--list").output
    assert grader_("restore", "relu", "--notebook", "none.ipynb").exit_code == 2
    assert grader_("restore", "relo").exit_code == 2
