"""Solutions of the real course: shown to whom they should be, right, and measured; and three hints an exercise."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch.autograd import Function

import grader.exercises
from grader.checking import verdict
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.progress import progress, record_check
from grader.learning.solution import SWITCH, measured, sample_of, solution, source_of, ways
from grader.learning.standing import standing

REAL = grader.exercises.catalogue()
IDS = list(REAL)
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def course(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exercise]:
    """The real course in place of the miniature one."""
    monkeypatch.setattr(grader.exercises, "catalogue", lambda: REAL)
    return REAL


def attempt(id: str, code: str, *, passed: bool = False) -> None:
    """A recorded check of an answer with this text."""
    space: dict[str, Any] = {}
    exec(f"def answer():\n    return {code!r}", space)
    report = SimpleNamespace(exercise=id, passed=passed, points=0.0, out_of=4, diagnosis=())
    record_check(report, space["answer"])


# ---- the hints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", IDS)
def test_three_hints_from_direction_to_nearly_there(id: str) -> None:
    """That they rise is judged by reading; here: three, the first without code, none with a line of an answer."""
    exercise = REAL[id]
    assert len(exercise.hints) == 3
    assert len(set(exercise.hints)) == 3
    assert all(20 <= len(hint) <= 420 for hint in exercise.hints)
    assert not re.search(r"\bctx\.\w+ ?=|\btorch\.\w+\(|\breturn ", exercise.hints[0]), "no code in the first hint"
    for hint in exercise.hints:
        for way in exercise.variants:
            returned = re.findall(r"return (.{16,})", way.source or "")
            assert not any(text in hint for text in returned), "a hint holds a line of a solution"


# ---- who sees a solution ---------------------------------------------------------------------------------------------


def test_folded_until_passed(folder: Path) -> None:
    attempt("relu", "first")
    assert "still folded" in str(solution("relu"))
    assert "So far: 1" in str(solution("relu"))
    assert "So far: 1" in str(solution("relu", give_up=True)), "one try is not three"
    assert not standing("relu").solution
    attempt("relu", "second", passed=True)
    assert "right ways" in str(solution("relu"))
    assert standing("relu").solution
    assert "solution seen" in str(progress())


def test_three_different_answers_and_a_yes(folder: Path) -> None:
    for code in ("a", "b", "b", "b", "a"):
        attempt("relu", code)
    assert "So far: 2" in str(solution("relu", give_up=True)), "the same answer again is no new attempt"
    attempt("relu", "c")
    assert 'solution("relu", give_up=True)' in str(solution("relu")), "asks first"
    assert "right ways" in str(solution("relu", give_up=True))
    assert [e["kind"] for e in journal.load().events].count("solution") == 1
    solution("relu", give_up=True)
    assert [e["kind"] for e in journal.load().events].count("solution") == 1, "recorded once"


def test_an_answer_not_begun_is_no_attempt(folder: Path) -> None:
    from grader import check

    for text in ("one", "two", "three"):
        space: dict[str, Any] = {"Function": Function}
        exec(
            "class MyReLU(Function):\n    @staticmethod\n    def forward(ctx, x):\n"
            f"        {text!r}\n        raise NotImplementedError\n",
            space,
        )
        check("relu", space["MyReLU"])
    assert standing("relu").attempts == 0
    assert "So far: 0" in str(solution("relu", give_up=True))


def test_refused_in_a_grading_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attempt("relu", "a", passed=True)
    monkeypatch.setenv("GRADER_CLASS_SECRET", "s")
    assert "ways" not in str(solution("relu"))
    assert "class MyReLU" not in str(solution("relu"))


@pytest.mark.parametrize("how", ["environment", "beside", "above"])
def test_a_class_can_turn_it_off(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    attempt("relu", "a", passed=True)
    below = folder / "02_relu"
    below.mkdir()
    monkeypatch.chdir(below)
    assert "right ways" in str(solution("relu"))
    if how == "environment":
        monkeypatch.setenv("GRADER_SOLUTIONS", "off")
    else:
        ((below if how == "beside" else folder) / SWITCH).touch()
    assert "turned them off" in str(solution("relu"))
    assert "class MyReLU" not in solution("relu")._repr_html_()


@pytest.mark.parametrize("name", ["relo", "", 7, None])
def test_unknown_id_is_a_message(folder: Path, name: object) -> None:
    assert "no exercise called" in str(solution(name))


# ---- what it shows ---------------------------------------------------------------------------------------------------


def lesson_names(exercise: Exercise) -> dict[str, Any]:
    """What the lesson's first cell imports: the names a learner has when they paste a solution."""
    source = (ROOT / "solutions" / f"{exercise.lesson}.py").read_text(encoding="utf-8")
    lines = re.findall(r"^(?:import|from) (?!grader).*$", source, re.MULTILINE)
    space: dict[str, Any] = {"__name__": "__main__"}
    exec("\n".join(lines), space)
    return space


@pytest.mark.parametrize("id", IDS)
def test_every_way_that_is_shown_passes_its_own_check_as_pasted_into_the_lesson(id: str) -> None:
    exercise = REAL[id]
    shown = ways(exercise)
    assert 1 <= len(shown) <= 3
    for way in shown:
        assert way.why.endswith(".")
        assert len(way.why) < 200
        space = lesson_names(exercise)
        exec(compile(source_of(way), "pasted", "exec"), space)
        report = verdict(exercise, space[exercise.symbol], 7, diagnose=False)
        assert report.passed, f"{way.id}: {report.text()}"


@pytest.mark.parametrize("id", IDS)
def test_card(folder: Path, id: str) -> None:
    attempt(id, "a", passed=True)
    card = solution(id)
    assert all(source_of(way).splitlines()[-1].strip() in str(card) for way in ways(REAL[id]))
    assert ("Keeps" in str(card)) is (REAL[id].kind == "function"), "plain functions keep nothing for backward"
    assert card._repr_html_().count("<pre") == len(ways(REAL[id]))


def saved_by_torch(thing: type[Function], args: tuple[Any, ...]) -> int:
    """An oracle: bytes that pass through torch's saved_tensors_hooks, each storage once."""
    sizes: dict[int, int] = {}

    def pack(t: torch.Tensor) -> torch.Tensor:
        sizes[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    given = [a.clone().requires_grad_() if isinstance(a, torch.Tensor) else a for a in args]
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = thing.apply(*given)  # type: ignore[no-untyped-call]
    assert out is not None
    return sum(sizes.values())


@pytest.mark.parametrize("id", [id for id in IDS if REAL[id].kind == "function"])
def test_measured_bytes_against_torchs_hooks(id: str) -> None:
    args = sample_of(REAL[id])
    for way in ways(REAL[id]):
        on_ctx = way.id == "mask_on_ctx"  # an attribute of ctx: the hooks do not see it
        expected = args[0].numel() if on_ctx else saved_by_torch(way.thing, args)
        assert measured(way.thing, args).saved_bytes == expected


def test_the_ways_of_relu_differ_in_what_they_keep(folder: Path) -> None:
    x = sample_of(REAL["relu"])[0]
    kept = {way.id: measured(way.thing, (x,)).saved_bytes for way in ways(REAL["relu"])}
    assert kept == {"save_input": 8 * x.numel(), "save_output": 8 * x.numel(), "mask_on_ctx": x.numel()}


def test_the_learners_own_version_is_measured_beside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = next(way.thing for way in REAL["relu"].variants if way.id == "mask_on_ctx")
    shell = SimpleNamespace(user_ns={"MyReLU": own})
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: shell)
    attempt("relu", "a", passed=True)
    size = sample_of(REAL["relu"])[0].numel()
    assert f"Your `MyReLU` keeps {size:,} bytes" in str(solution("relu"))
    shell.user_ns["MyReLU"] = ModuleType("odd")
    assert "Your" not in str(solution("relu"))
