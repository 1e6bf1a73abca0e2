"""Lesson 03: a net with binary activations, trained through a straight-through estimator."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercise import Exercise, Misconception, Reference
from grader.exercises.straight_through.common import LESSON
from grader.inputs import Draw, Inputs, Sample

__all__ = ["train_binary"]

STEPS = 300
ENOUGH = 0.9
TRAINED = 0.75


def _seed(draw: Draw) -> int:
    return draw.integer(0, 10_000)


def _accuracy(bench: Bench, steps: int, seed: int) -> float:
    """What the function says, if it is an accuracy at all."""
    got = bench.call(steps, seed)
    call = f"train_binary({steps}, {seed})"
    if not isinstance(got, float):
        kind = type(got).__name__
        raise Failed(f"{call} returned a {kind}, expected a float.", look="how a tensor becomes a number.")
    if not 0.0 <= got <= 1.0:
        raise Failed(
            f"{call} returned {got:.4g}; an accuracy lies between 0 and 1.",
            cause="percent, a count of hits, or the loss is returned.",
        )
    return got


# The id replaces the built-in comparison with the reference's value: every right net has its own accuracy.
@check("value", stage="value")
def learns(bench: Bench) -> None:
    """Catches a net that does not learn (no gradient through the sign, one of the wrong sign), one that is
    trained before the first step, and results that are no accuracies. Cannot see the net itself: whether its
    hidden layer is binary, only its author knows."""
    # One untrained net may be far from a half by luck, at either side; several are not all well above it.
    starts = [_accuracy(bench, 0, _seed(bench.draw(f"untrained {k}"))) for k in range(5)]
    if min(starts) > TRAINED:
        raise Failed(
            f"Without a single training step the accuracy is {min(starts):.2f} or more; guessing gives about 0.5.",
            cause="`steps` is not the number of steps, or something else than the accuracy is returned.",
        )
    for salt in ("one", "two"):
        seed = _seed(bench.draw(salt))
        end = _accuracy(bench, STEPS, seed)
        if end < ENOUGH:
            raise Failed(
                f"After {STEPS} steps with seed {seed} the accuracy is {end:.2f}; {ENOUGH} or more is asked.",
                cause="no useful gradient reaches the hidden layer, or the steps are too small.",
                look="the gradient of the hidden weights: is it zero? And which surrogate does it come from?",
            )


@check("repeats", stage="value")
def repeats(bench: Bench) -> None:
    """Catches results that depend on more than (steps, seed), such as torch's global generator, and a seed
    without effect. Cannot see whether the global generator is left as it was found."""
    seeds = [_seed(bench.draw(str(k))) for k in range(4)]
    with torch.random.fork_rng(devices=[]):
        found = [[_accuracy_after(bench, steps, seeds[0], world) for world in (1, 2)] for steps in (0, 12)]
    for steps, (first, again) in zip((0, 12), found, strict=True):
        if first != again:
            raise Failed(
                f"train_binary({steps}, {seeds[0]}) gave {first:.4f} and then {again:.4f}.",
                cause="something random is drawn without a generator that was seeded with `seed`.",
                look="data and starting weights: both must follow from `seed` alone.",
            )
    if all(len({_accuracy(bench, steps, seed) for seed in seeds}) == 1 for steps in (0, 12)):
        raise Failed("Four different seeds gave the same accuracies.", cause="`seed` is not used.")


def _accuracy_after(bench: Bench, steps: int, seed: int, world: int) -> float:
    torch.manual_seed(world)
    return _accuracy(bench, steps, seed)


def _variants(draw: Draw) -> Iterable[Sample]:
    for steps in (0, 40):
        yield Sample(f"{steps} steps", (steps, _seed(draw)))


def adam_on_rings(steps, seed):
    g = torch.Generator().manual_seed(seed)

    def rings(count):
        label = (torch.arange(count) % 2).float()
        radius = 0.5 + label + 0.12 * torch.randn(count, generator=g)
        angle = 2 * torch.pi * torch.rand(count, generator=g)
        return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), label

    def sign(h):
        line = h.clamp(-1, 1)
        return line + (2.0 * (h >= 0) - 1 - line).detach()

    def logits(x):
        return sign(x @ w.T + b) @ v + c

    (x, y), (x_test, y_test) = rings(400), rings(400)
    w, b = torch.randn(8, 2, generator=g).requires_grad_(), torch.zeros(8).requires_grad_()
    v, c = torch.randn(8, generator=g).requires_grad_(), torch.zeros(()).requires_grad_()
    optimizer = torch.optim.Adam([w, b, v, c], lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(logits(x), y).backward()
        optimizer.step()
    return ((logits(x_test) > 0) == (y_test > 0.5)).float().mean().item()


def sgd_on_blobs(steps, seed):
    torch.manual_seed(seed)
    corner = torch.randint(0, 4, (300,))
    centers = torch.tensor([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    x = centers[corner] + 0.3 * torch.randn(300, 2)
    y = (corner >= 2).float().unsqueeze(1)
    first, last = torch.nn.Linear(2, 16), torch.nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.2, momentum=0.9)
    for step in range(steps + 1):
        h = first(x)
        line = h.clamp(-1, 1)
        bits = line + ((h > 0).to(h.dtype) - line).detach()
        out = last(bits)
        if step < steps:
            optimizer.zero_grad()
            F.binary_cross_entropy_with_logits(out, y).backward()
            optimizer.step()
    return float(((out > 0) == (y > 0.5)).sum()) / 300


train_binary = Exercise(
    id="train_binary",
    lesson=LESSON,
    title="A net of signs that learns",
    symbol="train_binary",
    kind="plain",
    points=4,
    reference=Reference(forward=adam_on_rings),
    inputs=Inputs(generic=lambda draw: (20, _seed(draw)), variants=_variants),
    checks=(learns, repeats),
    stages={"value": 1.0},
    hints=(
        "The training loop is the one from the start of the lesson. Which single part of it kept the hidden "
        "weights from moving?",
        "Get data and weights from start(seed), so that all randomness follows from the seed; put the four "
        "tensors into an optimizer; per step: zero_grad, loss, backward, step.",
        "Use logits(x, weights, SignSTE.apply) in the loss and again, on the test points, for the accuracy: "
        "a logit above 0 means class 1. Adam with lr=0.05 is enough. The mean of the hits, .item() of it, "
        "is the answer.",
    ),
)
train_binary.variant(
    "adam_on_rings",
    "The detach trick in place of a Function, and Adam, which forgives the coarse gradient of a surrogate.",
)(adam_on_rings)
train_binary.variant(
    "sgd_on_blobs",
    "Modules and plain SGD with momentum: the surrogate does not depend on the optimizer, nor on the data.",
)(sgd_on_blobs)


def _spoilt(id: str, sentence: str, right: str, wrong: str) -> None:
    """Add the misconception that comes from the right answer by changing one line of it."""
    source = inspect.getsource(adam_on_rings).replace("adam_on_rings", train_binary.symbol)
    if source.count(right) != 1:
        raise ValueError(f"misconception {id!r}: {right!r} must stand once in the right answer")
    source = source.replace(right, wrong)
    names: dict[str, Any] = {"torch": torch, "F": F}
    exec(source, names)
    thing = names[train_binary.symbol]
    train_binary.written_misconceptions.append(Misconception(id, thing, source, sentence))


_spoilt(
    "no_surrogate",
    "Your net trains through a plain sign, whose true gradient is zero: only the last layer learns, the "
    "hidden one stays as it was drawn. This is what the straight-through estimator is for.",
    "return line + (2.0 * (h >= 0) - 1 - line).detach()",
    "return line - line + 2.0 * (h >= 0) - 1",
)
_spoilt(
    "no_window",
    "Your surrogate lets every gradient through. The net whose gradient you follow is then a linear one, "
    "and a linear net cannot separate rings: think of what the window of the sign was for.",
    "line = h.clamp(-1, 1)",
    "line = h",
)
_spoilt(
    "detaches_wrong_term",
    "The gradient through your sign points the wrong way: the hidden layer walks uphill. Look at which term "
    "of the detach trick is detached.",
    "return line + (2.0 * (h >= 0) - 1 - line).detach()",
    "return line.detach() + (2.0 * (h >= 0) - 1 - line)",
)
_spoilt(
    "global_generator",
    "Your result changes from call to call: something is drawn from torch's global generator. Data and "
    "weights must follow from `seed` alone.",
    "g = torch.Generator().manual_seed(seed)",
    "g = None",
)
_spoilt(
    "seed_ignored",
    "Every seed gives the same numbers: `seed` never reaches the generator.",
    "manual_seed(seed)",
    "manual_seed(42)",
)
_spoilt(
    "steps_ignored",
    "You always train equally long: `steps` is not used, so even 0 steps give a trained net.",
    "in range(steps)",
    "in range(300)",
)
_spoilt(
    "percent",
    "You return percent. An accuracy is a share: between 0 and 1.",
    ".float().mean().item()",
    ".float().mean().item() * 100",
)
_spoilt(
    "returns_loss",
    "What you return falls while the net learns: it is the loss, or the share of errors. Asked is the share "
    "of hits.",
    "((logits(x_test) > 0) == (y_test > 0.5)).float().mean().item()",
    "F.binary_cross_entropy_with_logits(logits(x_test), y_test).item()",
)
_spoilt(
    "errors_for_hits",
    "You count the misses instead of the hits.",
    "((logits(x_test) > 0) == (y_test > 0.5))",
    "((logits(x_test) > 0) != (y_test > 0.5))",
)
_spoilt(
    "tensor_returned",
    "You return a tensor. The accuracy is asked as a Python float.",
    ".mean().item()",
    ".mean()",
)
_spoilt(
    "never_steps",
    "Gradients are computed but the weights never move: the optimizer's step is missing.",
    "optimizer.step()",
    "pass",
)
