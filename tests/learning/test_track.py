"""Loops that show how far they are, and what is said when they are stopped."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from grader.learning import track as module
from grader.learning.track import track

ROOT = Path(__file__).parents[2]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_bar", lambda *_: module._Terminal())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SHOW_AFTER", 0.0)
    monkeypatch.setattr(module, "_SHOW_EVERY", 0.0)


def test_the_items_come_through_unchanged(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(track("abc", "letters")) == ["a", "b", "c"]
    assert list(track(iter(range(3)))) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal", "at_once")
def test_a_terminal_has_one_line_that_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    list(track(range(2), "training"))
    out, err = capsys.readouterr()
    assert out.split("\r") == [
        "",
        "training: 1 of 2 steps",
        "training: 2 of 2 steps",
        "training: 2 of 2 steps, done\n",
    ]
    assert err == ""


@pytest.mark.usefixtures("terminal")
def test_a_short_loop_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    list(track(range(3), "training"))
    assert capsys.readouterr() == ("", "")


def stop(at: int, error: BaseException) -> list[int]:
    kept: list[int] = []

    def train() -> None:
        for step in track(range(10), "training"):
            if step == at:
                raise error
            kept.append(step)

    with pytest.raises(type(error)):
        train()
    return kept


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("x")], ids=["stop button", "error"])
def test_a_stopped_loop_says_in_one_line_what_was_kept(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    assert stop(4, error) == [0, 1, 2, 3]
    said = capsys.readouterr().out
    assert said == "\rtraining: stopped after 4 of 10 steps. What these steps did is kept.\n"
    assert stop(0, error) == []
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("terminal")
def test_a_source_that_fails_is_said_and_passed_on(capsys: pytest.CaptureFixture[str]) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(track(source(), "reading"))
    assert "reading: stopped after 1 steps" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["NBGRADER_EXECUTION", "GRADER_CLASS_SECRET"])
def test_a_graded_run_is_silent(name: str) -> None:
    code = "import time\nfrom grader.learning.track import track\nfor _ in track(range(3), 'x'): time.sleep(0.3)"
    env = {**os.environ, "PYTHONPATH": str(ROOT), name: "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def in_a_kernel(*sources: str) -> list[Any]:
    """The outputs of each cell in a kernel of its own."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    for name in ("GRADER_CLASS_SECRET", "NBGRADER_EXECUTION"):
        env.pop(name, None)
    NotebookClient(notebook, kernel_name="python3", timeout=120, allow_errors=True).execute(env=env)
    return [cell.outputs for cell in notebook.cells]


@pytest.mark.slow
def test_in_a_notebook_a_bar_and_the_stop_button() -> None:
    """The kernel gets the signal that the stop button sends, in the middle of a loop."""
    loop = (
        "import os, signal, threading, time\n"
        "from grader.learning.track import track\n"
        "threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "kept = []\n"
        "for step in track(range(1000), 'training <net>'):\n"
        "    time.sleep(0.05); kept.append(step)"
    )
    stopped, after = in_a_kernel(loop, "print(0 < len(kept) < 1000)")
    display, error = stopped
    assert display.output_type == "display_data"
    assert display.data["text/plain"].startswith("training <net>: stopped after ")
    assert "training &lt;net&gt;" in display.data["text/html"]
    assert error.ename == "KeyboardInterrupt"
    assert after[0].text == "True\n"


@pytest.mark.slow
def test_the_first_check_says_that_it_gets_ready_and_leaves_nothing_to_see() -> None:
    """With the warm-up in the background switched off, the check has to wait for it itself."""
    setup = (
        "import grader.warm as warm, IPython.display as d\n"
        "warm._one_by_one = lambda *_: None\n"
        "from grader import check\n"
        "from torch.autograd import Function\n"
        "said, show = [], d.display\n"
        "d.display = lambda *a, **k: (said.append(a), show(*a, **k))[1]\n"
        "class Double(Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x): return 2 * x\n"
        "    @staticmethod\n"
        "    def backward(ctx, g): return 2 * g"
    )
    _, first, second, said = in_a_kernel(setup, "check('double', Double)", "check('double', Double)", "print(said)")
    assert [output.output_type for output in first] == ["display_data", "display_data"]
    assert first[0].data == {"text/html": "", "text/plain": ""}
    assert [output.output_type for output in second] == ["display_data"]
    assert said[0].text.count("getting ready") == 1
