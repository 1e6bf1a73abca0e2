"""Outputs of test cells, read by nbgrader itself: a score that cannot be misread, or an error, which is 0."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_notebook
from nbformat.validator import validate
from nbgrader.utils import determine_grade

from grader.grading.outputs import DIED, MIME, NO_RESULT, NOT_RUN, STOPPED, problem, score, verdict
from grader.grading.session import LATE, Cell, Tested
from grader.grading.shown import of_cell, of_test
from grader.report import Finding, Report
from grader.subject import ENDLESS, GONE, Failure

REPORT = Report("relu", "ReLU by hand", False, 1.37, 4, (Finding("forward", False, "wrong"),))


def by_nbgrader(outputs: list[dict[str, Any]], points: float) -> tuple[float | None, float | None]:
    """What nbgrader gives for a test cell with these outputs, after a round through JSON and nbformat's validator."""
    about = {"grade": True, "grade_id": "t", "locked": True, "points": points, "schema_version": 3, "solution": False}
    cell = new_code_cell("grade()", metadata={"nbgrader": about})
    cell.outputs = [from_dict(out) for out in json.loads(json.dumps(outputs))]
    validate(new_notebook(cells=[cell]))
    found: tuple[float | None, float | None] = determine_grade(cell)
    return found


@pytest.mark.parametrize("points", [0.0, 1.37, 4.0, 1 / 3, 1e-9, 0.1 + 0.2])
def test_a_score_is_read_as_it_was_given(points: float) -> None:
    outputs = of_test(Tested("✓ right\n", points, (REPORT,), ""), 4.0, 1000)
    assert by_nbgrader(outputs, 4.0) == (points, 4.0)
    assert score(outputs) == points
    assert problem(outputs) is None
    found = verdict(outputs)
    assert found is not None
    assert (found["exercise"], found["points"]) == ("relu", 1.37)


@pytest.mark.parametrize("points", [None, -1.0, 4.5, math.inf, -math.inf, math.nan])
def test_what_is_no_score_is_zero_and_said(points: float | None) -> None:
    outputs = of_test(Tested("", points, (), ""), 4.0, 1000)
    assert by_nbgrader(outputs, 4.0) == (0, 4.0)
    assert problem(outputs) is not None
    assert problem(outputs)[0] == NO_RESULT  # type: ignore[index]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("AssertionError: twice", "AssertionError"),
        (f"{LATE}: the submission took too long", NOT_RUN),
        (f"{ENDLESS}: f raised an error", STOPPED),
        (f"{GONE}: f raised an error", DIED),
    ],
)
def test_a_test_that_fails_is_zero_whatever_was_found_before(error: str, name: str) -> None:
    outputs = of_test(Tested("", 4.0, (REPORT,), error), 4.0, 1000)
    assert by_nbgrader(outputs, 4.0) == (0, 4.0)
    assert problem(outputs)[0] == name  # type: ignore[index]
    assert score(outputs) is None


def test_the_graders_own_failure_is_told_apart() -> None:
    outputs = of_test(Tested("", None, (), "KeyError: 'x'", broken=True), 4.0, 1000)
    assert by_nbgrader(outputs, 4.0) == (0, 4.0)
    assert "the grader itself failed (KeyError: 'x')" in problem(outputs)[1]  # type: ignore[index]


def test_nothing_is_on_stderr_and_floods_are_cut() -> None:
    tested = Tested("x" * 5000, 4.0, (), "", shown=({"text/plain": "shown"},))
    outputs = of_test(tested, 4.0, 1000)
    assert {out.get("name", "stdout") for out in outputs} == {"stdout"}
    assert outputs[0]["text"].endswith("[more output was dropped]\n")
    assert len(outputs[0]["text"]) < 1100


def test_a_cell_says_how_it_failed() -> None:
    failure = Failure("cell", "ZeroDivisionError", "division", "line 1: 1 / 0")
    stream, error = of_cell(Cell("cell 2", "1 / 0", output="so far\n", failure=failure), 1000)
    assert stream["text"] == "so far\n"
    assert error["traceback"] == ["line 1: 1 / 0", "ZeroDivisionError: division"]
    left_out = Cell("cell 3", "os._exit(1)", failure=Failure("cell", GONE, "it ended"), left_out=True)
    (error,) = of_cell(left_out, 1000)
    assert (error["ename"], error["evalue"]) == (DIED, "it ended. The other cells were run without it.")


def test_a_damaged_record_is_none() -> None:
    for data in ({MIME: "{"}, {MIME: [1]}, {"text/plain": "4"}):
        assert verdict([{"output_type": "display_data", "data": data}]) is None
    assert score([{"output_type": "execute_result", "data": {"text/plain": "four"}}]) is None
