"""Lesson 04's test Functions are what their names say. Oracles: torch's own gradcheck, and definitions."""

from __future__ import annotations

import pytest
import torch

from grader.battery import judge
from grader.exercises.gradcheck.bugs import name_the_bug
from grader.exercises.gradcheck.inputs import WRONG, choose_inputs
from grader.exercises.gradcheck.specimens import (
    UPSTREAM_FLAWS,
    Specimen,
    flawed_everywhere,
    flawed_in_one_place,
    hidden_by_ones,
    right_ones,
)
from grader.inputs import Draw
from grader.local import LocalSubject

SEEDS = range(5)
NAMES = {"ok", "sign", "factor", "transpose", "no-upstream", "mask"}


def gradcheck_says(specimen: Specimen) -> bool:
    leaves = tuple(x.detach().clone().requires_grad_() for x in specimen.inputs)
    return torch.autograd.gradcheck(specimen.apply, leaves, raise_exception=False)


def right_for_ones(specimen: Specimen) -> bool:
    """Whether the gradient of the plain sum agrees with central differences of that sum."""
    leaves = [x.detach().clone().requires_grad_() for x in specimen.inputs]
    grads = torch.autograd.grad(specimen.apply(*leaves).sum(), leaves)
    for leaf, grad in zip(leaves, grads, strict=True):
        for unit in torch.eye(leaf.numel(), dtype=leaf.dtype):
            step = 1e-6 * unit.reshape(leaf.shape)
            up, down = ([x.detach() + s * step if x is leaf else x.detach() for x in leaves] for s in (1, -1))
            slope = (specimen.apply(*up).sum() - specimen.apply(*down).sum()) / 2e-6
            if abs(slope - (grad * unit.reshape(leaf.shape)).sum()) > 1e-5:
                return False
    return True


@pytest.mark.parametrize("seed", SEEDS)
def test_right_specimens_are_right(seed: int) -> None:
    for specimen in right_ones(Draw(seed)):
        assert gradcheck_says(specimen), specimen.name


@pytest.mark.parametrize("seed", SEEDS)
def test_right_specimens_come_in_every_kind_the_exercise_promises(seed: int) -> None:
    inputs = [x for specimen in right_ones(Draw(seed)) for x in specimen.inputs]
    assert any(not x.is_contiguous() for x in inputs)
    assert {x.requires_grad for x in inputs} == {True, False}
    assert any(x.dim() == 0 for x in inputs)


@pytest.mark.parametrize("seed", SEEDS)
def test_flawed_specimens_are_wrong(seed: int) -> None:
    for make in (flawed_everywhere, flawed_in_one_place, hidden_by_ones):
        for specimen in make(Draw(seed)):
            assert not gradcheck_says(specimen), specimen.name


@pytest.mark.parametrize("seed", SEEDS)
def test_flaws_hidden_by_ones_are_hidden_and_the_others_are_not(seed: int) -> None:
    assert all(right_for_ones(s) for s in hidden_by_ones(Draw(seed)))
    assert not any(right_for_ones(s) for s in flawed_everywhere(Draw(seed)) + flawed_in_one_place(Draw(seed)))


def test_upstream_flaws_are_not_linear() -> None:
    g = torch.tensor([300.0, -0.5, 2.0, -700.0], dtype=torch.float64)
    h = torch.tensor([-900.0, 0.25, 1.0, 200.0], dtype=torch.float64)
    for name, flaw in UPSTREAM_FLAWS.items():
        assert not torch.allclose(flaw(g + h), flaw(g) + flaw(h)), name


def test_every_wrong_backward_of_an_operation_can_be_exposed_and_can_hide() -> None:
    """The reference's tensors expose all; each misconception's let one through or are refused."""
    digest = choose_inputs.digest
    assert digest is not None
    assert all(digest(choose_inputs.reference.forward(op), op) == "[]" for op in WRONG)
    for misconception in choose_inputs.written_misconceptions:
        assert any(digest(misconception.thing(op), op) != "[]" for op in WRONG), misconception.id


def test_other_tensors_with_the_same_weakness_get_the_same_diagnosis() -> None:
    def all_positive(op: str) -> tuple[torch.Tensor, ...]:
        if op in ("relu", "clamp"):
            return (torch.tensor([0.11, 0.5, 3.0, 7.0], dtype=torch.float64),)
        shapes = ((5, 1), (2,)) if op == "mul" else ((4, 2), (2, 3))
        return tuple(torch.rand(shape, dtype=torch.float64) + 0.1 for shape in shapes)

    report = judge(choose_inputs, LocalSubject(all_positive))
    assert report.diagnosis[:1] == ("all_positive",)


@pytest.mark.parametrize("answer", [None, (), 3, (None,), ("x", "y"), (torch.ones(2, dtype=torch.long),)])
def test_a_wrong_kind_of_answer_is_a_finding_not_a_crash(answer: object) -> None:
    report = judge(choose_inputs, LocalSubject(lambda op: answer))
    assert not report.passed
    assert report.points == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_every_name_of_a_bug_is_asked_for_and_no_pair_fits_two_names_before_mask(seed: int) -> None:
    answers = []
    for sample in name_the_bug.inputs.variants(Draw(seed)):
        numeric, analytic = sample.args
        answers.append(name_the_bug.reference.forward(numeric, analytic))
        fits = [
            torch.allclose(analytic, numeric, atol=1e-5),
            torch.allclose(analytic, -numeric, atol=1e-5),
            numeric.shape == numeric.T.shape and torch.allclose(analytic, numeric.T, atol=1e-5),
            torch.allclose(analytic, numeric.sum(0).expand_as(numeric), atol=1e-5),
        ]
        symmetric = numeric.shape == numeric.T.shape and torch.allclose(numeric, numeric.T, atol=1e-5)
        assert sum(fits) <= (2 if symmetric else 1), sample.name
        assert answers[-1] != "mask" or not any(fits), sample.name
    assert set(answers) == NAMES
