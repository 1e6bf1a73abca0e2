"""What Python needs, wherever it lives; and of this package the student's side, which must run on that alone."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from grader.errors import GraderError
from grader.grading.bubblewrap import wrapping
from grader.grading.level import Level
from grader.grading.readable import PACKAGE, STUDENT_SIDE, python_paths, without
from tests.sandbox.levels import attempt, level_for


def test_a_prefix_under_a_home_is_shown_and_nothing_else_of_that_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, python = tmp_path / "home", tmp_path / "home/.pyenv/versions/3.11"
    (python / "bin").mkdir(parents=True)
    (home / "gradebook.db").touch()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "base_prefix", str(python))
    monkeypatch.setattr(sys, "base_exec_prefix", str(python))
    assert python in python_paths()
    words = wrapping("bwrap", Level("bubblewrap"), [])
    bound = [word for option, word in itertools.pairwise(words) if option == "--ro-bind"]
    assert str(python) in bound
    assert not [path for path in bound if home.is_relative_to(path)]


def test_a_python_that_is_the_home_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me").mkdir()
    for prefix in (tmp_path, tmp_path / "me"):
        monkeypatch.setattr(sys, "prefix", str(prefix))
        with pytest.raises(GraderError, match="holds your home folder"):
            python_paths()


def test_every_link_to_the_interpreter_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, between, outer = tmp_path / "real", tmp_path / "links/between", tmp_path / "python"
    real.touch()
    between.parent.mkdir()
    between.symlink_to("../real")
    outer.symlink_to("links/between")
    monkeypatch.setattr(sys, "executable", str(outer))
    assert {real, between, outer} <= set(python_paths())


def test_taking_a_folder_out_leaves_its_neighbours(tmp_path: Path) -> None:
    for name in ("a/secret/x", "a/b/y", "c"):
        (tmp_path / name).mkdir(parents=True)
    assert without(tmp_path, tmp_path / "a/secret") == [tmp_path / "a/b", tmp_path / "c"]
    assert without(tmp_path / "c", tmp_path / "a/secret") == [tmp_path / "c"]
    assert without(tmp_path, tmp_path) == []


def test_a_package_among_installed_ones_is_covered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(PACKAGE.parent))
    words = wrapping("bwrap", Level("bubblewrap"), [])
    hidden = words.index("--tmpfs", words.index("--tmpfs") + 1)
    assert words[hidden + 1] == str(PACKAGE)
    assert words.index(str(PACKAGE.parent)) < hidden < words.index(str(PACKAGE / "errors.py"))


def test_the_students_side_exists_and_holds_no_answers() -> None:
    assert [path for path in STUDENT_SIDE if not path.exists()] == []
    shown = {path.relative_to(PACKAGE).parts[0] for path in STUDENT_SIDE}
    answers = ("battery.py", "classroom", "contract", "corpus", "diagnosis.py", "exercise.py", "exercises", "hidden.py")
    assert shown.isdisjoint({*answers, "inputs.py", "matrix"})
    modules = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in STUDENT_SIDE]
    code = f"import importlib, sys; [importlib.import_module(m) for m in {modules}]; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours = [name for name in loaded if name.startswith("grader.")]
    assert [name for name in ours if name.split(".")[1] in {"exercises", "corpus", "battery", "contract"}] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bubblewrap", "landlock-namespaces", "landlock"])
def test_the_students_side_and_torch_run_in_the_sandbox(name: str) -> None:
    code = """
import torch
import grader.local, grader.grading.host
import matplotlib.pyplot as plt
from torch.autograd import gradcheck
x = torch.randn(3, dtype=torch.float64, requires_grad=True)
figure, _ = plt.subplots()
figure.savefig("picture.png")
torch.save({"x": x}, "x.pt")
did = [gradcheck(torch.sin, (x,)), torch.load("x.pt")["x"].shape[0]]
"""
    assert attempt(level_for(name, "me"), "me", {"run": code})["run"].get("did") == [True, 3]
