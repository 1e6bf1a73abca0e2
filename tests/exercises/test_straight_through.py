"""Lesson 03: the surrogates are those of PyTorch where it has them, and the inputs can tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from grader.battery import judge
from grader.checking import verdict
from grader.exercises import get
from grader.exercises.straight_through import EXERCISES
from grader.inputs import Draw
from grader.local import LocalSubject

FUNCTIONS = tuple(e for e in EXERCISES if e.kind == "function")
SURROGATES: dict[str, Callable[..., Tensor]] = {
    "binarize": lambda x: 1.0 * x,
    "sign_clipped": F.hardtanh,
    "round_ste": lambda x: 1.0 * x,
    "grad_reverse": lambda x, alpha: -alpha * x,
}


def samples(exercise: Any, seed: int) -> list[tuple[Any, ...]]:
    draw, inputs = Draw(seed), exercise.inputs
    others = (*inputs.variants(draw), *inputs.edges(draw), *inputs.extreme)
    return [inputs.generic(draw), inputs.small(draw), *(s.args for s in others)]


@pytest.mark.parametrize("id", SURROGATES)
def test_the_reference_gradient_is_that_of_the_surrogate(id: str) -> None:
    for x, *numbers in samples(get(id), 3):
        g = Draw(4).normal(*x.shape, scale=3.0)
        leaf = x.clone().requires_grad_()
        (right,) = torch.autograd.grad(SURROGATES[id](leaf, *numbers), leaf, g)
        vjp = get(id).reference.vjp
        assert vjp is not None
        torch.testing.assert_close(vjp(g, x, *numbers)[0], right, rtol=0, atol=0)


def test_fake_quantize_is_pytorchs_own() -> None:
    reference = get("fake_quantize").reference
    assert reference.vjp is not None
    for x, scale, low, high in samples(get("fake_quantize"), 3):
        if x.numel() and float(x.abs().max()) > 1e6:
            continue  # the built-in one overflows there
        leaf = x.float().requires_grad_()
        value = torch.fake_quantize_per_tensor_affine(leaf, scale, 0, low, high)
        g = Draw(4).normal(*x.shape, scale=3.0)
        (right,) = torch.autograd.grad(value, leaf, g.float())
        torch.testing.assert_close(reference.forward(x, scale, low, high).float(), value.detach())
        torch.testing.assert_close(reference.vjp(g, x, scale, low, high)[0].float(), right)


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda e: e.id)
@pytest.mark.parametrize("seed", range(40))
def test_surrogate_and_true_gradient_differ_on_every_small_sample(exercise: Any, seed: int) -> None:
    args = exercise.inputs.small(Draw(seed))
    declared = exercise.reference.vjp(torch.ones_like(args[0]), *args)[0]
    true = torch.ones_like(args[0]) if exercise.id == "grad_reverse" else torch.zeros_like(args[0])
    assert bool((declared != true).any())


@pytest.mark.parametrize("seed", range(40))
def test_fake_quantize_is_tried_on_both_sides_of_each_edge_and_never_near_a_tie(seed: int) -> None:
    for x, scale, low, high in samples(get("fake_quantize"), seed)[:4]:
        v = x / scale
        assert float(((v - torch.floor(v)) - 0.5).abs().min()) > 0.05
        assert bool((v.round() < low).any() and (v.round() > high).any()), "saturated on both sides"
        assert bool(((v < low) & (v.round() == low)).any()), "outside, yet rounded onto the lower end"
        assert bool(((v > high) & (v.round() == high)).any()), "outside, yet rounded onto the upper end"


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda e: e.id)
def test_low_precision_keeps_the_code_of_every_sample(exercise: Any) -> None:
    for seed in range(20):
        x, *numbers = exercise.inputs.generic(Draw(seed))
        exact = exercise.reference.forward(x, *numbers)
        low = exercise.reference.forward(x.bfloat16(), *numbers)
        torch.testing.assert_close(low.double(), exact, rtol=1e-2, atol=1e-2)


def hard(h: Tensor) -> Tensor:
    return torch.sign(h)


def net(activation: Callable[[Tensor], Tensor], steps: int, seed: int) -> float:
    """The lesson's net, its first layer trained through whatever gradient `activation` has."""
    generator = torch.Generator().manual_seed(seed)
    labels = (torch.arange(400) % 2).float()
    radius = 0.5 + labels + 0.12 * torch.randn(400, generator=generator)
    angle = 2 * torch.pi * torch.rand(400, generator=generator)
    x = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)
    weights = [torch.randn(2, 8, generator=generator), torch.zeros(8), torch.randn(8, generator=generator)]
    w, b, v, c = (t.requires_grad_() for t in (*weights, torch.zeros(())))
    optimizer = torch.optim.Adam([w, b, v, c], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        loss: Tensor = F.binary_cross_entropy_with_logits(activation(x @ w + b) @ v + c, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return ((activation(x @ w + b) @ v + c > 0) == (labels > 0.5)).float().mean().item()


@pytest.fixture
def single_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("single_thread")
def test_only_the_window_trains_the_net_as_the_lesson_tells() -> None:
    def windowed(h: Tensor) -> Tensor:
        line = h.clamp(-1, 1)
        return line + (hard(h) - line).detach()

    with_window = [net(windowed, 200, seed) for seed in range(4)]
    identity = [net(lambda h: h + (hard(h) - h).detach(), 200, seed) for seed in range(4)]
    true = [net(hard, 200, seed) for seed in range(4)]
    assert min(with_window) > max(*identity, *true) + 0.2


def test_a_constant_accuracy_is_no_training() -> None:
    for lie in (0.5, 0.95):
        report = verdict(get("train_binary"), lambda steps, seed, lie=lie: lie, 1)
        assert not report.passed
        assert report.points == 0


def test_a_training_run_leaves_the_learners_random_numbers_alone() -> None:
    before = torch.random.get_rng_state()
    verdict(get("train_binary"), lambda steps, seed: torch.rand(()).item(), 1)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_returning_the_input_itself_is_a_right_reversal() -> None:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, alpha: float) -> Tensor:
            ctx.alpha = alpha
            return x

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
            return -ctx.alpha * grad_output, None

    assert judge(get("grad_reverse"), LocalSubject(Same), 5).passed


def test_a_surrogate_check_refuses_the_derivative_itself() -> None:
    class TrueRound(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return torch.round(x)

        @staticmethod
        def backward(ctx: Any, grad_output: Tensor) -> Tensor:
            return torch.zeros_like(grad_output)

    report = judge(get("round_ste"), LocalSubject(TrueRound), 5)
    assert "surrogate" in {f.check for f in report.findings if not f.passed}
    assert report.diagnosis[0] == "zeros"
