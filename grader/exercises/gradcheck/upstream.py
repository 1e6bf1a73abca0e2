"""Lesson 04: is a backward linear in the upstream gradient? gradcheck does not ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercise import Exercise, Reference
from grader.exercises.gradcheck.specimens import UPSTREAM_FLAWS, Specimen, Vjp, function_of
from grader.inputs import Draw, Inputs, Sample

__all__ = ["upstream_linear"]


def _is_linear(apply: Callable[[Tensor], Tensor], x: Tensor) -> bool:
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    for scale in (1.0, 1e4):
        for _ in range(8):
            g, h = scale * torch.randn_like(y), scale * torch.randn_like(y)
            mixed, by_g, by_h = (
                torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in (2 * g - 3 * h, g, h)
            )
            if not torch.allclose(mixed, 2 * by_g - 3 * by_h, rtol=1e-6, atol=1e-6):
                return False
    return True


def _cube_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return (3 * x**2 * g,)


def _with(flaw: Callable[[Tensor], Tensor], vjp: Vjp) -> Vjp:
    return lambda g, x: vjp(flaw(g), x)


def _linear_ones(draw: Draw) -> list[Specimen]:
    """Backwards that are linear in g: right ones, a surrogate, and wrong ones whose fault lies elsewhere."""
    weight, x, v = draw.normal(3, 5), draw.normal(4, 3, off=(0.0,)), draw.normal(6, off=(0.0,))

    def cube(vjp: Vjp) -> Callable[..., Tensor]:
        return function_of(lambda z: z**3, vjp)

    return [
        Specimen("a right cube", cube(_cube_vjp), (v,)),
        Specimen("a right cube on an x that requires grad", cube(_cube_vjp), (v.clone().requires_grad_(),)),
        Specimen("a right matrix product, whose output has another shape than x", lambda z: z @ weight, (x,)),
        Specimen(
            "a right broadcast, whose output is larger than x", lambda z: z.tanh() + draw.normal(4, 1), (v,)
        ),
        Specimen("a right sum, whose output is 0-d", lambda z: (z * z).sum(), (x,)),
        Specimen("a straight-through rounding", function_of(torch.round, lambda g, z: (g,)), (v,)),
        Specimen(
            "a cube three times too steep, wrong but linear in g", cube(lambda g, z: (9 * z**2 * g,)), (v,)
        ),
        Specimen(
            "a cube that sums g first, wrong but linear in g", cube(lambda g, z: (3 * z**2 * g.sum(),)), (v,)
        ),
    ]


@check("value", stage="value")
def accepts_linear(bench: Bench) -> None:
    """Catches a test that says False of a backward linear in the upstream gradient, whether its gradient is
    right or not, and one that trips over outputs of another shape than x. Cannot see whether it would ever
    say False."""
    for specimen in _linear_ones(bench.draw()):
        if not _verdict(bench, specimen):
            raise Failed(
                f"Your function said False for {specimen.name}.",
                cause="rounding taken for an error, or an upstream gradient of the wrong shape.",
                look="is the comparison one with a tolerance? Has g the shape of the output, not of x?",
            )


@check("rejects_nonlinear", stage="value")
def rejects_nonlinear(bench: Bench) -> None:
    """Catches a test blind to clamps, signs, powers and norms of the upstream gradient, also where multiples
    of one g come out right and only sums do not. Cannot see flaws
    that start only beyond magnitudes of 100, or that need a special direction."""
    x = bench.draw().normal(3, 4, off=(0.0,), gap=0.3)
    for name, flaw in UPSTREAM_FLAWS.items():
        specimen = Specimen(
            f"a backward that {name}", function_of(lambda z: z**3, _with(flaw, _cube_vjp)), (x,)
        )
        if _verdict(bench, specimen):
            raise Failed(
                f"Your function said True for {specimen.name}.",
                cause="the upstream gradients you tried are not different enough.",
                look="magnitudes (1 and 1000), signs, and sums of two different g.",
            )


def _verdict(bench: Bench, specimen: Specimen) -> bool:
    (x,) = specimen.inputs
    seen = bench.called(specimen.apply, x)
    got, facts = seen.value, seen.facts
    if not isinstance(got, bool):
        raise Failed(
            f"Your function returned a {type(got).__name__}, expected True or False.", look="the last line."
        )
    if facts.inputs_edited or facts.requires_grad_changed or facts.leaf_grad_touched:
        raise Failed(
            "After the call the caller's x is not as it was: its values, its requires_grad or its .grad "
            "changed.",
            look="work on x.detach().clone(), and let only that require grad.",
        )
    return got


def _telling(draw: Draw) -> Iterable[Sample]:
    """What the diagnosis probes with (the checks bring their own Functions): each is telling for one
    misconception."""
    x = draw.normal(3, 4, off=(0.0,), gap=0.3)
    for name in ("absolute value", "[-1, 1]", "[-100, 100]", "squares"):
        flaw = next(flaw for key, flaw in UPSTREAM_FLAWS.items() if name in key)
        yield Sample(name, (function_of(lambda z: z**3, _with(flaw, _cube_vjp)), x))
    for specimen in _linear_ones(draw):
        if "matrix product" in specimen.name or "too steep" in specimen.name:
            yield Sample(specimen.name, (specimen.apply, *specimen.inputs))


upstream_linear = Exercise(
    id="upstream_linear",
    lesson="04_gradcheck",
    title="Is the backward linear in the upstream gradient?",
    symbol="upstream_linear",
    kind="plain",
    points=3,
    reference=Reference(forward=_is_linear),
    inputs=Inputs(
        generic=lambda draw: (function_of(lambda z: z**3, _cube_vjp), draw.normal(6)), variants=_telling
    ),
    checks=(accepts_linear, rejects_nonlinear),
    stages={"value": 1.0},
    hints=(
        "Linear means two things: a multiple of g gives the same multiple of the answer, and a sum gives "
        "the sum. One equation can test both.",
        "Run apply once on a detached clone that requires grad; write a small function that gives the VJP "
        "for any g with torch.autograd.grad(y, x, g, retain_graph=True). Compare vjp(2 g - 3 h) with 2 "
        "vjp(g) - 3 vjp(h).",
        "Draw g and h with torch.randn in the shape and dtype of y, several times, once at size 1 and "
        "once at size 10000; compare with torch.allclose; one disagreement is a False.",
    ),
)


@upstream_linear.misconception(
    "multiples_only",
    "You try positive multiples of one g. An absolute value, or a backward that lets only positive g "
    "pass, survives that: linear also means that negative multiples and sums go through.",
)
def multiples_only(apply, x):
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    g = 1000 * torch.randn_like(y)
    once = torch.autograd.grad(y, x, g, retain_graph=True)[0]
    thrice = torch.autograd.grad(y, x, 3 * g, retain_graph=True)[0]
    return torch.allclose(thrice, 3 * once)


@upstream_linear.misconception(
    "small_upstream_only",
    "Your upstream gradients are all small. A clamp does nothing to small numbers: try magnitudes far "
    "above 1 as well.",
)
def small_upstream_only(apply, x):
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    for _ in range(8):
        g, h = (0.1 * (2 * torch.rand_like(y) - 1) for _ in range(2))
        mixed, by_g, by_h = (
            torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in (2 * g - 3 * h, g, h)
        )
        if not torch.allclose(mixed, 2 * by_g - 3 * by_h):
            return False
    return True


@upstream_linear.misconception(
    "moderate_upstream_only",
    "You see a clamp at 1, but not one further out. Gradient clipping often sits at 10 or 100: try far "
    "larger upstream gradients too.",
)
def moderate_upstream_only(apply, x):
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    for _ in range(8):
        g, h = torch.randn_like(y), torch.randn_like(y)
        mixed, by_g, by_h = (
            torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in (2 * g - 3 * h, g, h)
        )
        if not torch.allclose(mixed, 2 * by_g - 3 * by_h):
            return False
    return True


@upstream_linear.misconception(
    "one_hot_upstream",
    "You feed unit vectors, as gradcheck does. Clamps, signs and norms leave a unit vector as it is; that "
    "is just why gradcheck cannot see them.",
)
def one_hot_upstream(apply, x):
    x = x.detach().clone().requires_grad_()
    return torch.autograd.gradcheck(apply, (x,), raise_exception=False)


@upstream_linear.misconception(
    "exact_equality",
    "You compare with ==. Two ways to the same number differ in the last bits, so right backwards are "
    "rejected: compare with a tolerance.",
)
def exact_equality(apply, x):
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    for scale in (1.0, 1e4):
        for _ in range(8):
            g, h = scale * torch.randn_like(y), scale * torch.randn_like(y)
            mixed, by_g, by_h = (
                torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in (2.1 * g - 3 * h, g, h)
            )
            if not torch.equal(mixed, 2.1 * by_g - 3 * by_h):
                return False
    return True


@upstream_linear.misconception(
    "upstream_shaped_like_x",
    "You draw g in the shape of x. The upstream gradient belongs to the output and has the output's shape.",
)
def upstream_shaped_like_x(apply, x):
    x = x.detach().clone().requires_grad_()
    y = apply(x)
    for scale in (1.0, 1e4):
        for _ in range(8):
            g, h = scale * torch.randn_like(x), scale * torch.randn_like(x)
            mixed, by_g, by_h = (
                torch.autograd.grad(y, x, v, retain_graph=True)[0] for v in (2 * g - 3 * h, g, h)
            )
            if not torch.allclose(mixed, 2 * by_g - 3 * by_h, atol=1e-6):
                return False
    return True


@upstream_linear.misconception(
    "always_true",
    "Your function never says False: try it on a backward that takes g.abs().",
)
def linear_always_true(apply, x):
    return True


@upstream_linear.variant(
    "two_separate_laws",
    "Tests multiples and sums one by one, so a failure says which law is broken.",
)
def two_separate_laws(apply, x):
    leaf = x.detach().clone().requires_grad_()
    y = apply(leaf)

    def vjp(g):
        (grad,) = torch.autograd.grad(y, leaf, g, retain_graph=True)
        return grad

    for k in range(20):
        size = 10.0 ** (k % 5)
        g, h = size * torch.randn(y.shape, dtype=y.dtype), size * torch.randn(y.shape, dtype=y.dtype)
        multiples = torch.allclose(vjp(-7 * g), -7 * vjp(g), rtol=1e-8, atol=1e-8)
        sums = torch.allclose(vjp(g + h), vjp(g) + vjp(h), rtol=1e-8, atol=1e-7)
        if not (multiples and sums):
            return False
    return True


@upstream_linear.variant(
    "against_the_jacobian",
    "One row of the Jacobian for each output, then any g must give the same as g times those rows: slower, but "
    "it also catches a wrong row.",
)
def against_the_jacobian(apply, x):
    leaf = x.detach().clone().requires_grad_()
    y = apply(leaf)
    units = torch.eye(y.numel(), dtype=y.dtype)
    rows = [torch.autograd.grad(y, leaf, e.reshape(y.shape), retain_graph=True)[0].flatten() for e in units]
    for size in (0.5, 3.0, 500.0, 5e4):
        g = size * torch.randn(y.numel(), dtype=y.dtype)
        (got,) = torch.autograd.grad(y, leaf, g.reshape(y.shape), retain_graph=True)
        if not torch.allclose(got.flatten(), g @ torch.stack(rows), rtol=1e-7, atol=1e-6):
            return False
    return True
