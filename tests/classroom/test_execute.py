"""What student code can do to a run, in the real sandbox: the other exercises keep what they earned."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from grader import checking
from grader.classroom.execute import ExecuteLesson
from grader.classroom.master import Master, grade_id
from grader.classroom.outcome import Status, from_executed

DOUBLE = "def double(x):\n    return 2 * x\n"
TRIPLE = "def triple(x):\n    return 3 * x\n"


@pytest.fixture
def run(master: Master, tmp_path: Path) -> Callable[..., NotebookNode]:
    """Run 00_warm_up with these answers; `before` is a cell put in front."""

    def execute(*, double: str = DOUBLE, triple: str = TRIPLE, before: str = "", **limits: int) -> NotebookNode:
        nb = copy.deepcopy(master.notebook)
        for cell in nb.cells:
            cell.source = {"double": double, "triple": triple}.get(grade_id(cell), cell.source)
        nb.cells[1].source = before or nb.cells[1].source
        runner = ExecuteLesson(**{"timeout": 3, **limits})
        done, _ = runner.preprocess(nb, {"metadata": {"path": str(tmp_path)}})
        return done

    return execute


def points(nb: NotebookNode) -> dict[str, float]:
    """The scores nbgrader itself will give."""
    tests = [cell for cell in nb.cells if grade_id(cell).startswith("test_")]
    return {grade_id(cell).removeprefix("test_"): determine_grade(cell)[0] for cell in tests}


HARMLESS = {
    "a warning": "import warnings\nwarnings.warn('old')",
    "stderr": "import sys\nprint('note', file=sys.stderr)",
    "sys.exit": "import sys\nsys.exit(1)",
    "quit": "quit()",
    "exit": "exit()",
    "input": "input('how many? ')",
    "an exception": "1 / 0",
    "a syntax error": "def (",
    "a flood of output": "for i in range(20_000): print('x' * 100)",
    "a number as the last line": "5.0",
    "a print of nonsense bytes": "print('\\x00\\x1b[31m\\ud800')",
}


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS.keys())
def test_a_cell_in_front_costs_nothing(code: str, run: Callable[..., NotebookNode]) -> None:
    assert points(run(before=code, timeout=60)) == {"double": 2, "triple": 3}


def test_stderr_inside_a_tested_function_costs_nothing(run: Callable[..., NotebookNode]) -> None:
    noisy = "import sys\ndef double(x):\n    print('hm', file=sys.stderr)\n    return 2 * x"
    assert points(run(double=noisy)) == {"double": 2, "triple": 3}


LOST = {
    "loops": "def double(x):\n    while True: pass",
    "loops and swallows interrupts": """
def double(x):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
    "loops where it is defined": "while True: pass",
    "ends the process when called": "import os\ndef double(x):\n    os._exit(0)",
    "ends the process where it is defined": "import os\nos._exit(0)",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "segmentation fault": "import ctypes\nctypes.string_at(0)",
    "deletes itself": "def double(x):\n    return 2 * x\ndel double",
}


@pytest.mark.parametrize("code", LOST.values(), ids=LOST.keys())
@pytest.mark.parametrize("bad", ["double", "triple"])
def test_an_answer_costs_only_itself(bad: str, code: str, run: Callable[..., NotebookNode]) -> None:
    right = {"double": 2.0, "triple": 3.0}
    assert points(run(**{bad: code.replace("double", bad)})) == {**right, bad: 0.0}


def test_the_reason_is_said(run: Callable[..., NotebookNode], master: Master) -> None:
    status, reason, results = from_executed(run(double="def double(x): return x\nimport os\nos._exit(3)"), master)
    assert status == Status.GRADED
    assert "ended the whole Python process: it ended itself with exit code 3" in reason
    assert "double is not defined (its cell was left out" in results[0].problem
    _, _, results = from_executed(run(double="def double(x):\n    raise NotImplementedError"), master)
    assert results[0].problem == "not written yet"


def test_names_of_the_test_cell_are_its_own(run: Callable[..., NotebookNode]) -> None:
    spoils = "float = str\nimport builtins\nbuiltins.all = lambda _: True\nsecret_points = lambda *_: 2.0\nprint = None"
    assert points(run(before=spoils, double="def double(x): return 7")) == {"double": 0, "triple": 3}


def test_a_submission_has_a_limit_of_its_own(run: Callable[..., NotebookNode], master: Master) -> None:
    nb = run(before="import time\ntime.sleep(60)", timeout=60, submission_timeout=4)
    assert points(nb) == {"double": 0, "triple": 0}
    _, reason, results = from_executed(nb, master)
    assert "not run" in reason
    assert results[0].problem == "it was not run: time limit of the submission"


def test_a_flood_is_cut(run: Callable[..., NotebookNode]) -> None:
    nb = run(before="for i in range(20_000): print('x' * 100)", timeout=60, max_output_bytes=5_000)
    assert sum(len(str(out.get("text", ""))) for out in nb.cells[1].outputs) < 10_000
    assert "dropped" in nb.cells[1].outputs[-1].text


def test_the_secret_seeds_the_tests_and_is_not_there_to_be_read(
    master: Master, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("word\n")
    monkeypatch.setenv("GRADER_CLASS_SECRET", "word")
    nb = copy.deepcopy(master.notebook)
    nb.cells[1].source = "import os\nsorted(os.environ), [open(p).read() for p in os.listdir() if os.path.isfile(p)]"
    nb.cells[4].source = "from grader.hidden import _SECRET\nprint(_SECRET.get())\n1"
    runner = ExecuteLesson(secret_file=str(tmp_path / "secret"))
    (tmp_path / "files").mkdir()
    done, _ = runner.preprocess(nb, {"metadata": {"path": str(tmp_path / "files")}})
    assert "GRADER_CLASS_SECRET" not in done.cells[1].outputs[0].text
    assert done.cells[4].outputs[0].text == "word\n"


def test_a_failure_of_the_grader_is_no_zero_of_the_student(
    run: Callable[..., NotebookNode], master: Master, tmp_path: Path
) -> None:
    """An error in our files or in a test cell is ours; one in the student's code that a test called is not."""
    spoilt = copy.deepcopy(master.notebook)
    spoilt.cells[4].source = "from grader import exercises\nexercises.get('no such exercise')\n1"
    done, _ = ExecuteLesson().preprocess(spoilt, {"metadata": {"path": str(tmp_path)}})
    status, reason, results = from_executed(done, master)
    assert (status, results[0].grader_failed) == (Status.LOOK, True)
    assert "the grader itself failed (GraderError: there is no exercise" in reason
    status, _, results = from_executed(run(double="def double(x):\n    raise AssertionError\n"), master)
    assert (status, results[0].points) == (Status.GRADED, 0.0)
    assert results[0].problem.startswith("AssertionError: double raised an error")


def test_a_verdict_that_could_not_be_made_asks_for_a_look(
    tmp_path: Path, master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours in the battery must not pass for a wrong answer."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(checking, "judge", broken)
    nb = copy.deepcopy(master.notebook)
    nb.cells[3].source = "def vjp_square(g, x):\n    return g"
    nb.cells[4].source = "from grader.hidden import grade\ngrade('vjp_square', vjp_square)"
    done, _ = ExecuteLesson().preprocess(nb, {"metadata": {"path": str(tmp_path)}})
    status, reason, results = from_executed(done, master)
    assert status == Status.LOOK
    assert "the grader itself failed (ValueError: a fault of ours)" in reason
    assert [result.doubtful for result in results] == [True, False]
