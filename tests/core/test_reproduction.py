"""The code that repeats a failed check: it runs in a notebook that knows the learner's answer, and says the same."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader import exercises
from grader.battery import judge
from grader.local import LocalSubject
from grader.report import Finding, Report

FIRST_MISTAKES = [
    pytest.param(exercise, exercise.misconceptions[0], id=exercise.id) for exercise in exercises.catalogue().values()
]


def notebook(exercise: Any, thing: Any) -> dict[str, Any]:
    return {"torch": torch, "F": F, "Function": Function, exercise.symbol: thing}


def judged(exercise: Any, thing: Any) -> Report:
    return judge(exercise, LocalSubject(thing), diagnose=False)


def the_failure(exercise: Any, thing: Any) -> Finding:
    return judged(exercise, thing).failed[0]


@pytest.mark.parametrize(("exercise", "mistake"), FIRST_MISTAKES)
def test_every_line_runs_up_to_the_call(exercise: Any, mistake: Any) -> None:
    code = the_failure(exercise, mistake.thing).reproduction
    if not code:
        return
    assert f"{exercise.symbol}.apply" in code or f"{exercise.symbol}(" in code, f"the answer is never called:\n{code}"
    names = notebook(exercise, mistake.thing)
    for line in code.splitlines():
        try:
            exec(line, names)  # the code is the grader's own
        except (NameError, SyntaxError):
            pytest.fail(f"{line!r} cannot run:\n{code}")
        except Exception:
            assert exercise.symbol in line or "torch.autograd" in line, f"{line!r} failed before the call:\n{code}"
            break


def test_the_tensors_bear_the_names_of_the_exercise() -> None:
    exercise = exercises.get("vjp_matmul")
    code = the_failure(exercise, lambda g, A, B: (A.T @ g, g @ B.T)).reproduction
    assert code.splitlines()[-1] == "vjp_matmul(g, A, B)"
    names = notebook(exercise, exercise.reference.forward)
    exec(code.rpartition("\n")[0], names)
    assert names["g"].shape == (names["A"] @ names["B"]).shape


def test_what_cannot_be_written_down_is_not_told() -> None:
    numerical = exercises.get("numerical_vjp")
    assert the_failure(numerical, lambda f, x, g, eps: torch.zeros_like(x)).reproduction == ""
    own = exercises.get("my_gradcheck")
    assert the_failure(own, lambda fn, inputs, eps=1e-6, atol=1e-5: True).reproduction == ""
