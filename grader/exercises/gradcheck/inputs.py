"""Lesson 04: inputs that expose wrong vector-Jacobian products, and the wrong ones they are put before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Check, Failed, Stage, check
from grader.exercise import Exercise, Reference
from grader.inputs import Draw, Inputs, Sample

__all__ = ["choose_inputs"]

Grads = tuple[Tensor, ...]
Vjp = Callable[..., Grads]

OPS: dict[str, tuple[int, Callable[..., Tensor], Vjp]] = {
    "relu": (1, torch.relu, lambda g, x: (g * (x > 0),)),
    "clamp": (1, lambda x: x.clamp(-1, 1), lambda g, x: (g * (x.abs() < 1),)),
    "mul": (2, torch.mul, lambda g, a, b: ((g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape))),
    "matmul": (2, torch.matmul, lambda g, a, b: (g @ b.T, a.T @ g)),
}
"""Per operation: how many tensors it takes, its forward, its right vector-Jacobian product."""


def _leading_only(g: Tensor, shape: torch.Size) -> Tensor:
    return g.sum(tuple(range(g.dim() - len(shape)))) if g.dim() > len(shape) else g


def _stretched_only(g: Tensor, shape: torch.Size) -> Tensor:
    for d in range(1, len(shape) + 1):
        if shape[-d] == 1:
            g = g.sum(-d, keepdim=True)
    return g


def _first_slice(g: Tensor, shape: torch.Size) -> Tensor:
    g = g[(0,) * (g.dim() - len(shape))]
    for d, n in enumerate(shape):
        g = g.narrow(d, 0, n)
    return g


def _reduced(reduce: Callable[[Tensor, torch.Size], Tensor]) -> Vjp:
    return lambda g, a, b: (reduce(g * b, a.shape), reduce(g * a, b.shape))


def _mean(g: Tensor, shape: torch.Size) -> Tensor:
    return g.sum_to_size(shape) * (shape.numel() / g.numel())


def _total(g: Tensor, shape: torch.Size) -> Tensor:
    return g.sum().expand(shape) if shape != g.shape else g


def _squared_up(g: Tensor, a: Tensor, b: Tensor) -> Grads:
    return (g @ b.T).reshape(len(a), len(a)), (a.T @ g).reshape(len(a), len(a))


def _rounded(right: Vjp) -> Vjp:
    """The right answer, computed in float32 on the way: it differs in the eighth digit, in float64 alone."""
    return lambda g, *args: tuple(r.to(g.dtype) for r in right(g.float(), *(a.float() for a in args)))


WRONG: dict[str, dict[str, Vjp]] = {
    "relu": {
        "a backward that passes g on unchanged": lambda g, x: (g,),
        "a backward with the mask inverted": lambda g, x: (g * (x < 0),),
        "a backward that masks by the sign of g": lambda g, x: (g * (g > 0),),
        "a backward that returns zeros": lambda g, x: (g * 0,),
        "a backward that multiplies by x where it is positive": lambda g, x: (g * x.clamp(min=0),),
        "a backward that lets all pass if any x is positive": lambda g, x: (g * bool((x > 0).any()),),
    },
    "clamp": {
        "a backward that passes g on unchanged": lambda g, x: (g,),
        "a backward that forgets the lower bound": lambda g, x: (g * (x < 1),),
        "a backward that forgets the upper bound": lambda g, x: (g * (x > -1),),
        "a backward that clamps g": lambda g, x: (g.clamp(-1, 1) * (x.abs() < 1),),
        "a backward with the mask inverted": lambda g, x: (g * (x.abs() > 1),),
        "a backward with the mask 0 < x < 1": lambda g, x: (g * ((x > 0) & (x < 1)),),
        "a backward with the mask -1 < x < 0": lambda g, x: (g * ((x > -1) & (x < 0)),),
    },
    "mul": {
        "a backward with the two gradients swapped": lambda g, a, b: (
            (g * a).sum_to_size(a.shape),
            (g * b).sum_to_size(b.shape),
        ),
        "a backward that does not reduce broadcast dimensions": lambda g, a, b: (g * b, g * a),
        "a backward that sums the added leading dimensions only": _reduced(_leading_only),
        "a backward that sums the stretched size-1 dimensions only": _reduced(_stretched_only),
        "a backward that takes the mean over broadcast dimensions": _reduced(_mean),
        "a backward that adds up everything for a smaller operand": _reduced(_total),
        "a backward that cuts out a slice instead of summing": _reduced(_first_slice),
        "a backward that ignores the other factor": lambda g, a, b: (
            g.sum_to_size(a.shape),
            g.sum_to_size(b.shape),
        ),
    },
    "matmul": {
        "a backward with the two gradients swapped": lambda g, a, b: (a.T @ g, g @ b.T),
        "a backward that forgets to transpose B": lambda g, a, b: (g @ b, a.T @ g),
        "a backward that forgets to transpose A": lambda g, a, b: (g @ b.T, a @ g),
        "a backward that takes both matrices for square": _squared_up,
        "a backward that transposes the result as well": lambda g, a, b: ((g @ b.T).T, (a.T @ g).T),
        "a backward that ignores the other factor's signs": lambda g, a, b: (g @ b.abs().T, a.abs().T @ g),
    },
}
"""Per operation: wrong vector-Jacobian products a learner's tensors must expose."""


def _agrees(wrong: Vjp, right: Vjp, upstreams: list[Tensor], args: tuple[Tensor, ...]) -> bool:
    """Whether no upstream gradient shows a difference; an error is a difference."""
    for g in upstreams:
        try:
            got = wrong(g, *args)
        except (RuntimeError, IndexError):
            return False
        for mine, expected in zip(got, right(g, *args), strict=True):
            if mine.shape != expected.shape or not torch.allclose(mine, expected, rtol=1e-11, atol=1e-12):
                return False
    return True


def _dishonest(op: str, args: tuple[Tensor, ...]) -> str:
    """Empty for tensors a gradient check may be run on, else what is wrong with them."""
    for name, x in zip(("the first tensor", "the second tensor"), args, strict=False):
        if x.dtype != torch.float64:
            return f"{name} is {str(x.dtype).removeprefix('torch.')}, too coarse for a gradient check"
        if not 0 < x.numel() <= 200:
            return f"{name} has {x.numel()} elements; a check wants a few, at most 200"
        if not bool(torch.isfinite(x).all()):
            return f"{name} has elements that are not finite"
    for kink in {"relu": (0.0,), "clamp": (-1.0, 1.0)}.get(op, ()):
        if float((args[0] - kink).abs().min()) < 0.01:
            return f"an element lies at the kink {kink:g}, or closer to it than 0.01"
    return _dishonest_matrices(*args) if op == "matmul" else ""


def _dishonest_matrices(a: Tensor, b: Tensor) -> str:
    if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[0]:
        return f"matrices of shapes {tuple(a.shape)} and {tuple(b.shape)} cannot be multiplied as A B"
    if len({*a.shape, *b.shape}) < 3:
        return f"in {tuple(a.shape)} and {tuple(b.shape)} two sizes are equal: a transpose may be missing"
    return ""


def _chosen(bench: Bench, op: str) -> tuple[Tensor, ...]:
    got = bench.call(op)
    count, *_ = OPS[op]
    if not isinstance(got, tuple) or not all(isinstance(x, Tensor) for x in got):
        raise Failed(
            f'For "{op}" your function did not return a tuple of tensors.',
            look="(x,) is a tuple of one tensor.",
        )
    if len(got) != count:
        raise Failed(f'For "{op}" your function returned {len(got)} tensors; the operation takes {count}.')
    return tuple(x.detach() for x in got)


def _survivors(op: str, args: tuple[Tensor, ...], draws: list[Draw]) -> list[str]:
    """The wrong versions that give the right numbers on these tensors, for a random upstream gradient of
    each draw."""
    _, forward, right = OPS[op]
    shape = forward(*args).shape
    upstreams = [draw.normal(*shape, scale=3.0) for draw in draws]
    wrong = {**WRONG[op], "a backward that computes in float32": _rounded(right)}
    return [name for name, vjp in wrong.items() if _agrees(vjp, right, upstreams, args)]


def _digest(value: Any, op: str) -> str:
    """What is wrong with the tensors chosen for an operation, in the words of the checks."""
    tensors = value if isinstance(value, tuple) else (value,)
    if len(tensors) != OPS[op][0] or not all(isinstance(x, Tensor) for x in tensors):
        return "no tuple of tensors"
    args = tuple(x.detach() for x in tensors)
    try:
        return _dishonest(op, args).split(",")[0] or str(_survivors(op, args, [Draw(k) for k in range(6)]))
    except RuntimeError:
        return "the operation fails"


def _exposes(op: str, id: str, stage: Stage) -> Check:
    @check(id, stage=stage)
    def exposes(bench: Bench) -> None:
        """Catches tensors on which a wrong vector-Jacobian product of the operation gives the right
        numbers, and tensors no gradient check may be run on (kinks, float32, square matrices). Cannot see
        faults other than those listed."""
        args = _chosen(bench, op)
        problem = _dishonest(op, args)
        if problem:
            raise Failed(f'For "{op}": {problem}.', look="the list of what good test inputs have in common.")
        try:
            survivors = _survivors(op, args, [bench.draw(str(k)) for k in range(6)])
        except RuntimeError as error:
            raise Failed(f'For "{op}" the operation itself fails on your tensors: {error}.') from None
        if survivors:
            raise Failed(
                f'For "{op}" {survivors[0]} gives exactly the right numbers on your tensors.',
                cause="the tensors lack a kind of element, or a shape, on which the two differ.",
                look="on what would that backward go wrong? Put that into your tensors.",
            )

    return exposes


def _good(op: str) -> tuple[Tensor, ...]:
    one = torch.tensor([[-2.5, -1.4, -0.6], [0.3, 0.8, 1.7]], dtype=torch.float64)
    two = torch.tensor(
        [[1.2, -0.4, 2.1, 0.7], [-1.6, 0.9, 0.5, -2.2], [0.3, 1.9, -0.8, 1.1]], dtype=torch.float64
    )
    return {"relu": (one,), "clamp": (one,), "mul": (one[:, :1], two[0]), "matmul": (one, two)}[op]


choose_inputs = Exercise(
    id="choose_inputs",
    lesson="04_gradcheck",
    title="Inputs that give a wrong backward away",
    symbol="choose_inputs",
    kind="plain",
    points=4,
    reference=Reference(forward=_good),
    inputs=Inputs(
        generic=lambda draw: ("relu",),
        variants=lambda draw: [Sample(op, (op,)) for op in ("clamp", "mul", "matmul")],
    ),
    # "value" stands in for the battery's comparison with the reference: many answers are right here.
    checks=(
        _exposes("relu", "value", "value"),
        _exposes("clamp", "exposes_clamp", "forward"),
        _exposes("mul", "exposes_mul", "gradient"),
        _exposes("matmul", "exposes_matmul", "contract"),
    ),
    digest=_digest,
    # A quarter for each operation.
    stages={"value": 0.25, "forward": 0.25, "gradient": 0.25, "contract": 0.25},
    hints=(
        "Take the wrong versions one by one and ask on which input it happens to be right. Your tensors "
        "must not look like that.",
        "relu and clamp: elements in every piece of the function, on both sides of zero, none near a "
        "kink. mul: one operand gets a new leading dimension, another has a dimension of size 1 "
        "stretched. matmul: no two sizes equal.",
        "Shapes that do it: (3, 1) times (4,) for mul, (2, 3) times (3, 4) for matmul. For clamp take "
        "numbers below -1, between -1 and 0, between 0 and 1, and above 1. Everything in torch.float64.",
    ),
)


@choose_inputs.misconception(
    "at_a_kink",
    "One of your numbers sits on a kink. There the slope from the left and the slope from the right "
    "differ, so a right backward may look wrong and a wrong one right.",
)
def at_a_kink(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0], dtype=torch.float64),)
    if op == "mul":
        return torch.randn(3, 1, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    return torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


@choose_inputs.misconception(
    "all_positive",
    "All your numbers are positive. On the positive side ReLU is the identity, so a backward that does "
    "nothing looks right: visit every piece of the function.",
)
def all_positive(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([0.3, 0.6, 1.7, 2.5], dtype=torch.float64),)
    if op == "mul":
        return torch.rand(3, 1, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    return torch.rand(2, 3, dtype=torch.float64), torch.rand(3, 4, dtype=torch.float64)


@choose_inputs.misconception(
    "float32_inputs",
    "Your tensors are float32. Rounding then hides differences in the eighth digit, and a finite "
    "difference on them has two or three right digits at best.",
)
def float32_inputs(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-2.5, -1.4, -0.6, 0.3, 0.8, 1.7]),)
    if op == "mul":
        return torch.randn(3, 1), torch.randn(4)
    return torch.randn(2, 3), torch.randn(3, 4)


@choose_inputs.misconception(
    "one_side_of_the_clamp",
    "Your numbers leave the interval of the clamp at one end only. A backward that forgets the other "
    "bound is right on all of them.",
)
def one_side_of_the_clamp(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-0.7, -0.4, 0.3, 0.8, 1.7, 2.5], dtype=torch.float64),)
    if op == "mul":
        return torch.randn(3, 1, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    return torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


@choose_inputs.misconception(
    "equal_shapes",
    "Your two factors have the same shape, so nothing is broadcast and nothing has to be summed: every "
    "mistake in the reduction stays invisible.",
)
def equal_shapes(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-2.5, -1.4, -0.6, 0.3, 0.8, 1.7], dtype=torch.float64),)
    if op == "mul":
        return torch.randn(3, 4, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    return torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


@choose_inputs.misconception(
    "one_kind_of_broadcasting",
    "Your factors are broadcast in one way only. Broadcasting does two things, it adds leading dimensions "
    "and it stretches dimensions of size 1: show both.",
)
def one_kind_of_broadcasting(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-2.5, -1.4, -0.6, 0.3, 0.8, 1.7], dtype=torch.float64),)
    if op == "mul":
        return torch.randn(3, 4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    return torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)


@choose_inputs.misconception(
    "square_matrices",
    "Your matrices are square. Every shape then fits everywhere, and code that mixes up sizes runs "
    "without complaint; with symmetric ones even a missing transpose gives the right numbers.",
)
def square_matrices(op):
    if op in ("relu", "clamp"):
        return (torch.tensor([-2.5, -1.4, -0.6, 0.3, 0.8, 1.7], dtype=torch.float64),)
    if op == "mul":
        return torch.randn(3, 1, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    return torch.randn(3, 3, dtype=torch.float64), torch.randn(3, 3, dtype=torch.float64)


@choose_inputs.variant(
    "drawn_at_random",
    "Random numbers never look alike by accident; the shapes and pieces are still chosen by hand.",
)
def drawn_at_random(op):
    if op in ("relu", "clamp"):
        middle = torch.linspace(-0.9, 0.9, 10, dtype=torch.float64)
        outside = 1.1 + torch.rand(3, dtype=torch.float64)
        return (torch.cat([-outside, middle, outside]),)
    if op == "mul":
        return torch.randn(2, 3, 4, dtype=torch.float64), torch.randn(3, 1, dtype=torch.float64)
    return torch.randn(5, 2, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)


@choose_inputs.variant(
    "table_of_literals",
    "Numbers chosen by hand say what they are for, and give the same answer every time.",
)
def table_of_literals(op):
    table = {
        "relu": ([-1.5, 0.4, 2.5],),
        "clamp": ([[-3.0], [-0.5], [0.5], [3.0]],),
        "mul": ([[[1.5, -2.0]], [[0.5, 3.0]], [[-1.0, 0.2]]], [[2.0], [-0.7], [0.3], [1.1]]),
        "matmul": ([[1.0, -2.0, 0.5, 0.1]], [[2.0, 0.3], [-1.0, 1.2], [0.4, 5.0], [0.7, -0.6]]),
    }
    return tuple(torch.tensor(values, dtype=torch.double) for values in table[op])
