"""After `settle`, nbgrader's own scoring gives what the hidden test meant, whatever is in the outputs."""

from __future__ import annotations

from typing import Any

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade

from grader.classroom.settle import NO_RESULT, VERDICT, problem, settle


def test_cell(*outputs: NotebookNode) -> NotebookNode:
    about = {
        "grade": True,
        "solution": False,
        "locked": True,
        "points": 4,
        "grade_id": "t",
        "schema_version": 3,
    }
    made: NotebookNode = new_code_cell("1", metadata={"nbgrader": about}, outputs=list(outputs))
    return made


test_cell.__test__ = False  # type: ignore[attr-defined]


def result(text: str) -> NotebookNode:
    made: NotebookNode = new_output("execute_result", data={"text/plain": text}, execution_count=1)
    return made


def stream(name: str) -> NotebookNode:
    made: NotebookNode = new_output("stream", name=name, text="some words\n")
    return made


def record(points: Any) -> NotebookNode:
    made: NotebookNode = new_output("display_data", data={VERDICT: {"exercise": "t", "points": points}})
    return made


ERROR = new_output("error", ename="NameError", evalue="name 'F' is not defined", traceback=[])


@pytest.mark.parametrize(
    ("outputs", "points"),
    [
        ([result("4.0")], 4),
        ([result("0.0")], 0),
        ([result("2.5"), stream("stderr")], 2.5),
        ([stream("stderr"), record(2.5), result("2.5")], 2.5),
        ([stream("stdout"), ERROR], 0),
    ],
)
def test_a_number_is_the_score_and_stderr_costs_nothing(outputs: list[NotebookNode], points: float) -> None:
    cell = test_cell(*outputs)
    settle(cell)
    assert determine_grade(cell) == (points, 4)
    assert (problem(cell) or ("", ""))[0] != NO_RESULT


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ([], "no number"),
        ([stream("stdout")], "no number"),
        ([result("'all right'")], "no number"),
        ([result("-1.0")], "not between 0 and 4"),
        ([result("4.5")], "not between 0 and 4"),
        ([result("nan")], "not between 0 and 4"),
        ([result("inf")], "not between 0 and 4"),
        ([record(1.0), result("4.0")], "the recorded verdict says 1.0 points, the last line 4"),
        ([record("many"), result("4.0")], "verdict"),
        ([record(4.0), record(4.0), result("4.0")], "2 verdicts"),
    ],
)
def test_no_usable_result_is_zero_and_asks_for_a_look(outputs: list[NotebookNode], said: str) -> None:
    cell = test_cell(*outputs)
    settle(cell)
    assert determine_grade(cell) == (0, 4)
    found = problem(cell)
    assert found is not None
    assert found[0] == NO_RESULT
    assert said in found[1]


@pytest.mark.parametrize("text", ["'all right'", "-1.0"])
def test_nbgrader_alone_would_give_full_marks(text: str) -> None:
    assert determine_grade(test_cell(result(text))) == (4, 4)


def test_other_cells_are_left_alone() -> None:
    cell = new_code_cell("1", outputs=[stream("stderr")])
    settle(cell)
    assert cell.outputs == [stream("stderr")]
