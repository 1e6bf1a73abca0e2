"""What a check asks together, what it remembers, and what stays the same as if it had asked one by one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

from grader.battery import run_checks
from grader.contract.bench import Bench
from grader.contract.check import Failed
from grader.contract.foresight import foresee, questions_of
from grader.exercises import get
from grader.local import LocalSubject
from grader.subject import Observation, Probe

X = torch.tensor([1.0, -2.0], dtype=torch.float64)
RELU = get("relu")


class FailsOnFive(Function):
    calls = 0

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        FailsOnFive.calls += 1
        if float(x[0]) == 5:
            raise ValueError("five")
        return 2 * x

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return 2 * g


@pytest.fixture(autouse=True)
def no_calls_yet() -> None:
    FailsOnFive.calls = 0


def test_the_first_probe_that_fails_is_the_last() -> None:
    probes = [Probe((torch.full((2,), v, dtype=torch.float64),)) for v in (1.0, 5.0, 3.0)]
    seen = LocalSubject(FailsOnFive).observe_each(probes)
    assert [s.failure is None for s in seen] == [True, False]
    assert FailsOnFive.calls == 2


def test_a_failure_is_told_after_what_came_before_it_and_with_its_own_place() -> None:
    bench = Bench(RELU, LocalSubject(FailsOnFive), 1, "vjp")
    five = Probe((torch.full((2,), 5.0, dtype=torch.float64),))
    answers = bench.observe_each([(Probe((X,)), "the first"), (five, "the second"), (Probe((X,)), "the third")])
    assert next(answers).output.tolist() == [2.0, -4.0]
    with pytest.raises(Failed, match=r"for the second.*five"):
        next(answers)
    assert bench.subject.last is five


def test_foreseen_answers_are_used_for_just_those_questions() -> None:
    probes = [Probe((X,)), Probe((X,)), Probe((X + 1,))]
    foreseen = list(zip(probes, LocalSubject(FailsOnFive).observe_each(probes), strict=True))
    bench = Bench(RELU, LocalSubject(FailsOnFive), 1, "vjp", foreseen=foreseen)
    assert FailsOnFive.calls == 3
    assert bench.subject.observe(Probe((X.clone(),))).output.tolist() == [2.0, -4.0]
    assert FailsOnFive.calls == 3, "answered already"
    assert bench.subject.observe(Probe((X, 1))).failure is not None, "another question, asked now"
    assert bench.subject.observe(Probe((3 * X,))).output.tolist() == [6.0, -12.0]
    assert FailsOnFive.calls == 4


class Distant(LocalSubject):
    """As if in another process: it counts the turns."""

    distant = True
    turns = 0

    def observe_each(self, probes: Any) -> list[Observation]:
        self.turns += 1
        return super().observe_each(probes)


@pytest.mark.parametrize("id", ["relu", "linear", "leaky_relu", "fake_quantize"])
def test_what_a_right_answer_was_asked_the_next_is_asked_in_one_turn(id: str) -> None:
    exercise, seed = get(id), 31
    first, second = (Distant(exercise.variants[0].thing) for _ in range(2))
    one, other = run_checks(exercise, first, seed), run_checks(exercise, second, seed)
    assert not one.failed
    assert one == other
    assert first.turns > 15
    assert second.turns <= 3  # the smoke call, the questions, and what a right answer is asked only then


def test_wrong_answers_teach_no_questions() -> None:
    exercise, seed = get("relu"), 32
    run_checks(exercise, Distant(exercise.misconceptions[0].thing), seed)
    assert not questions_of(exercise, seed)


class Meddles(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        if x.dim() > 2:
            torch.add = None  # type: ignore[assignment]
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


def test_nothing_is_foreseen_of_code_that_meddles_with_torch() -> None:
    probes = [Probe((X,)), Probe((torch.zeros(2, 2, 2),))]
    assert len(foresee({"vjp": probes[:1]}, Distant(Meddles), 10.0)["vjp"]) == 1
    assert foresee({"vjp": probes}, Distant(Meddles), 10.0) == {}


def test_a_probe_that_fails_stops_no_other_from_being_foreseen() -> None:
    five = Probe((torch.full((2,), 5.0, dtype=torch.float64),))
    found = foresee({"vjp": [Probe((X,)), five], "kinks": [Probe((X,))]}, Distant(FailsOnFive), 10.0)
    assert [[seen.failure is None for _, seen in found[check]] for check in found] == [[True, False], [True]]


def test_what_is_drawn_depends_on_seed_and_check_and_is_made_once() -> None:
    some = [
        Bench(RELU, LocalSubject(None), seed, check) for seed, check in ((1, "vjp"), (1, "vjp"), (2, "vjp"), (1, "f"))
    ]
    first, again, other_seed, other_check = (b.generic() for b in some)
    assert again is first
    assert some[1].upstream(again) is some[0].upstream(first)
    assert some[1].right_grads(again, some[1].upstream(again)) is some[0].right_grads(first, some[0].upstream(first))
    assert not any(torch.equal(first[0].flatten()[:4], o[0].flatten()[:4]) for o in (other_seed, other_check))


def test_equal_tensors_made_elsewhere_get_answers_of_their_own() -> None:
    bench = Bench(RELU, LocalSubject(None), 1, "vjp")
    args = bench.generic()
    moved = (args[0].clone(),)
    before = bench.right_outputs(moved)[0].clone()
    moved[0].mul_(-1)
    assert not torch.equal(bench.right_outputs(moved)[0], before)


def test_a_random_reference_is_asked_every_time() -> None:
    noisy = replace(
        RELU,
        contract=replace(RELU.contract, random=True),
        reference=replace(RELU.reference, forward=lambda x: x + torch.randn_like(x)),
    )
    bench = Bench(noisy, LocalSubject(None), 1, "vjp")
    assert not torch.equal(bench.right_outputs((X,))[0], bench.right_outputs((X,))[0])
    assert bench.memory is None


class EditsWhatItGets(Function):
    """Writes into its input under vmap and jvp, into the tangent, and into what second derivatives bring."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mark_dirty(*inputs)

    @staticmethod
    def jvp(ctx: Any, t: Tensor) -> Tensor:
        return t.mul_(2)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return 2 * g


@pytest.mark.parametrize("transform", ["vmap", "jvp"])
def test_a_transform_too_works_on_copies(transform: Any) -> None:
    x, t = torch.ones(3, 2, dtype=torch.float64), torch.full((3, 2), 5.0, dtype=torch.float64)
    LocalSubject(EditsWhatItGets).observe(Probe((x,), upstream=((t,),), wanted=(True,), transform=transform))
    assert bool((x == 1).all())
    assert bool((t == 5).all())
