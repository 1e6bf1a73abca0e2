"""The checks behind the exercise my_gradcheck: it must tell right Functions from wrong ones, and stay on
its own copies."""

from __future__ import annotations

import torch

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.exercises.gradcheck.specimens import (
    Specimen,
    flawed_everywhere,
    flawed_in_one_place,
    function_of,
    hidden_by_ones,
    right_ones,
)
from grader.subject import Facts

__all__ = ["TELLS_APART"]


def _verdict(bench: Bench, specimen: Specimen, **options: float) -> bool:
    """What the learner's checker says of a specimen; it must be a bool."""
    return _judged(bench, specimen, *options.values())[0]


def _judged(bench: Bench, specimen: Specimen, *options: float) -> tuple[bool, Facts]:
    """The same, and what was seen meanwhile."""
    seen = bench.called(specimen.apply, specimen.inputs, *options)
    got = seen.value
    if not isinstance(got, bool):
        raise Failed(
            f"For {specimen.name} your function returned a {type(got).__name__}, expected True or False.",
            look="the last line: it must return a Python bool.",
        )
    return got, seen.facts


def _reject_all(bench: Bench, specimens: list[Specimen], *, cause: str, look: str) -> None:
    for specimen in specimens:
        if _verdict(bench, specimen):
            raise Failed(f"Your function said True for {specimen.name}.", cause=cause, look=look)


@check("value", stage="value")
def accepts_right(bench: Bench) -> None:
    """Catches a checker that rejects right Functions, or trips over inputs that are transposed, sliced,
    0-d, several, or do not require grad. Cannot see whether it would ever say False."""
    for specimen in right_ones(bench.draw()):
        if not _verdict(bench, specimen):
            raise Failed(
                f"Your function said False for {specimen.name}.",
                cause="one of the two sides is computed at another point or in another order.",
                look="print both sides for this kind of input and compare them entry by entry.",
            )


@check("rejects_wrong", stage="value")
def rejects_wrong(bench: Bench) -> None:
    """Catches a checker that accepts gradients wrong in all elements. Cannot see whether it looks at every
    element."""
    _reject_all(
        bench,
        flawed_everywhere(bench.draw()),
        cause="the two sides are not compared, or not compared tightly.",
        look="which two numbers does your function compare, and with what tolerance?",
    )


@check("rejects_nan", stage="gradient")
def rejects_nan(bench: Bench) -> None:
    """Catches a checker that accepts NaN for a gradient. Cannot see how it treats infinities."""
    cube = function_of(lambda z: z**3, lambda g, z: (3 * z**2 * g * float("nan"),))
    _reject_all(
        bench,
        [Specimen("a cube whose gradient is NaN", cube, (bench.draw().normal(2, 2),))],
        cause="every comparison with NaN is False: asking whether an error is too large finds none.",
        look="ask the other way round: is every error small enough?",
    )


@check("looks_everywhere", stage="gradient")
def looks_everywhere(bench: Bench) -> None:
    """Catches a checker that looks at some elements or at the first input only. Cannot see a wrong
    tolerance."""
    _reject_all(
        bench,
        flawed_in_one_place(bench.draw()),
        cause="not every element of every input is compared.",
        look="the loop over the elements, and the loop over the inputs.",
    )


@check("needs_more_than_ones", stage="gradient")
def needs_more_than_ones(bench: Bench) -> None:
    """Catches a checker that only tries an upstream gradient of ones. Cannot see a backward that is not
    linear in it."""
    _reject_all(
        bench,
        hidden_by_ones(bench.draw()),
        cause="the upstream gradient you test with is all ones (y.sum().backward() is just that).",
        look="what a backward could do to g without being noticed when every entry of g is 1.",
    )


@check("sees_one_percent", stage="gradient")
def sees_one_percent(bench: Bench) -> None:
    """Catches a tolerance too wide for an error of one percent. Cannot see smaller errors."""
    draw = bench.draw()
    x = draw.uniform(2, 3, low=0.5, high=1.5)
    cube = function_of(lambda z: z**3, lambda g, z: (3 * z**2 * g * 1.01,))
    tanh = function_of(torch.tanh, lambda g, z: (g * (1 - z.tanh() ** 2) * 0.99,))
    _reject_all(
        bench,
        [
            Specimen("a cube whose gradient is one percent too large", cube, (x,)),
            Specimen("a tanh whose gradient is one percent too small", tanh, (x,)),
        ],
        cause="the tolerance is too wide.",
        look="what the default atol=1e-5 means, and whether a relative tolerance is added to it.",
    )


@check("honours_eps_and_atol", stage="contract")
def honours_eps_and_atol(bench: Bench) -> None:
    """Catches a checker that ignores its arguments eps and atol, or whose slopes are one-sided. Sees one
    value of each."""
    x = bench.draw().uniform(3, low=0.5, high=1.5)
    square = Specimen(
        "a right square, with eps=1e-3", function_of(lambda z: z * z, lambda g, z: (2 * z * g,)), (x,)
    )
    if not _verdict(bench, square, eps=1e-3, atol=1e-5):
        raise Failed(
            f"Your function said False for {square.name}. Two-sided slopes of a parabola are exact.",
            cause="the slope is taken to one side only.",
            look="the formula of the central difference.",
        )
    cube = Specimen("a right cube", function_of(lambda z: z**3, lambda g, z: (3 * z * z * g,)), (x,))
    if _verdict(bench, cube, eps=0.3, atol=1e-5):
        raise Failed(
            "With eps=0.3 your function still agrees with a cube to 1e-5, which no slope over such a step "
            "does.",
            cause="the argument eps is not used.",
        )
    loose = Specimen(
        "a slightly wrong cube, with atol=10",
        function_of(lambda z: z**3, lambda g, z: (3 * z * z * g * 1.01,)),
        (x,),
    )
    if not _verdict(bench, loose, eps=1e-6, atol=10.0):
        raise Failed(
            f"Your function said False for {loose.name}, although the error is far below that.",
            cause="the argument atol is not used.",
        )


@check("leaves_inputs_alone", stage="contract")
def leaves_inputs_alone(bench: Bench) -> None:
    """Catches a checker that changes the caller's tensors: values, requires_grad, .grad. Cannot see a
    change undone."""
    draw = bench.draw()
    inputs = (draw.normal(2, 3, shift=1.0), draw.normal(3, 4).requires_grad_())
    function = function_of(lambda a, b: a @ b, lambda g, a, b: (g @ b.T, a.T @ g))
    _, facts = _judged(bench, Specimen("a right matrix product", function, inputs))
    look = "work on copies: x.detach().clone(), and let only those require grad."
    if facts.inputs_edited:
        raise Failed(
            "After the call an input holds other values than before.",
            cause="a step is taken inside the caller's tensor.",
            look=look,
        )
    if facts.requires_grad_changed:
        raise Failed(
            "After the call an input's requires_grad is not what it was.",
            cause="requires_grad_() on the caller's tensor.",
            look=look,
        )
    if facts.leaf_grad_touched:
        raise Failed(
            "After the call an input's .grad is filled.",
            cause="backward() on a graph that starts at the caller's tensor.",
            look=look,
        )


@check("does_it_itself", stage="contract")
def does_it_itself(bench: Bench) -> None:
    """Catches a checker that hands the work to torch.autograd.gradcheck. Sees no other way of having it
    done."""
    function = function_of(lambda z: z**3, lambda g, z: (3 * z**2 * g,))
    cube = Specimen("a right cube", function, (bench.draw().normal(3).requires_grad_(),))
    _, facts = _judged(bench, cube)
    if facts.torch_gradcheck_calls:
        raise Failed(
            "Your function calls torch.autograd.gradcheck.",
            look="build it from function values and one call of torch.autograd.grad.",
        )


TELLS_APART = (
    accepts_right,
    rejects_wrong,
    rejects_nan,
    looks_everywhere,
    needs_more_than_ones,
    sees_one_percent,
    honours_eps_and_atol,
    leaves_inputs_alone,
    does_it_itself,
)
