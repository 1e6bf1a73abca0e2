"""What student code can do to a run, on the real kernel: the other exercises keep what they earned."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import pytest
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from grader import checking, exercises
from grader.classroom.execute import ExecuteLesson
from grader.classroom.master import Master, grade_id
from grader.classroom.outcome import Status, from_executed
from grader.classroom.settle import VERDICT

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
    status, reason, results = from_executed(run(double="import os\nos._exit(0)"), master)
    assert status == Status.GRADED
    assert "ended the whole Python process" in reason
    assert "double" in results[0].problem


def test_a_spoilt_result_is_zero_and_asks_for_a_look(run: Callable[..., NotebookNode], master: Master) -> None:
    nb = run(before="float = str")
    assert points(nb) == {"double": 0, "triple": 0}
    status, reason, results = from_executed(nb, master)
    assert status == Status.LOOK
    assert "double, triple" in reason
    assert all(result.doubtful for result in results)


def test_a_submission_has_a_limit_of_its_own(run: Callable[..., NotebookNode], master: Master) -> None:
    nb = run(before="import time\ntime.sleep(60)", timeout=60, submission_timeout=4)
    assert points(nb) == {"double": 0, "triple": 0}
    assert "not run" in from_executed(nb, master)[1]


def test_a_flood_is_cut(run: Callable[..., NotebookNode]) -> None:
    nb = run(before="for i in range(20_000): print('x' * 100)", max_output_bytes=5_000)
    assert sum(len(str(out.get("text", ""))) for out in nb.cells[1].outputs) < 10_000
    assert "dropped" in nb.cells[1].outputs[-1].text


def test_the_secret_is_in_the_environment_and_input_is_closed(
    master: Master, tmp_path: Path, run: Callable[..., NotebookNode]
) -> None:
    nb = run(before="import os\nos.environ.get('GRADER_CLASS_SECRET')")
    assert "execute_result" not in {out.output_type for out in nb.cells[1].outputs}
    (tmp_path / "secret").write_text("word\n")
    nb = copy.deepcopy(master.notebook)
    nb.cells[1].source = "import os\nos.environ['GRADER_CLASS_SECRET']"
    runner = ExecuteLesson(secret_file=str(tmp_path / "secret"))
    done, _ = runner.preprocess(nb, {"metadata": {"path": str(tmp_path)}})
    assert done.cells[1].outputs[0].data["text/plain"] == "'word'"


def test_a_failure_of_the_grader_is_no_zero_of_the_student(run: Callable[..., NotebookNode], master: Master) -> None:
    """An error in our files is ours; one in the student's code that our files called is not."""
    ours = "import grader.exercises as ours\ndef double(x):\n    raise AssertionError\n"
    spoilt = "from grader import exercises\n" + DOUBLE + "float = lambda _: exercises.get('no such exercise')"
    status, reason, results = from_executed(run(double=spoilt, timeout=60), master)
    assert (status, results[0].grader_failed) == (Status.LOOK, True)
    assert "the grader itself failed (GraderError: there is no exercise" in reason
    status, _, results = from_executed(run(double=ours, timeout=60), master)
    assert (status, results[0].problem, results[0].points) == (Status.GRADED, "AssertionError: ", 0.0)


def test_a_verdict_that_could_not_be_made_asks_for_a_look(
    run: Callable[..., NotebookNode], master: Master, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real battery's own words for it: a fault of ours must not pass for a wrong answer."""

    def broken(*_: object, **__: object) -> None:
        raise ValueError("a fault of ours")

    monkeypatch.setattr(checking, "judge", broken)
    told = checking.verdict(exercises.get("vjp_square"), lambda g, x: g, 0).to_dict()
    nb = run(timeout=60)
    for out in nb.cells[4].outputs:
        if VERDICT in out.get("data", {}):
            out.data[VERDICT] = told
    status, reason, results = from_executed(nb, master)
    assert status == Status.LOOK
    assert "could not be judged: ValueError" in reason
    assert [result.doubtful for result in results] == [True, False]
