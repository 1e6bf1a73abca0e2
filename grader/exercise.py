"""What an exercise is: a reference, its honest inputs, its contract, its misconceptions and right
variants.

The lessons' exercises stand in `grader/exercises/`, one module per lesson; this module only says what they
are made of.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from grader.inputs import Inputs

if TYPE_CHECKING:
    from grader.contract.check import Check

__all__ = [
    "Args",
    "Contract",
    "Exercise",
    "Implementation",
    "Misconception",
    "Reference",
    "SecondOrder",
    "Variant",
    "by_id",
    "source_as",
]

Args = tuple[Any, ...]
Thing = TypeVar("Thing")
SecondOrder = Literal["right_or_raises", "required", "must_raise", "ignored"]


@dataclass(frozen=True)
class Reference:
    """The right answer, written plainly.

    forward(*args) gives the output tensor (or a tuple of them, or any value for a plain function). vjp(g,
    *args) gives one gradient per argument, None for arguments without one: the vector-Jacobian product
    with the upstream gradient g (a tuple of them for several outputs), for a straight-through estimator
    that of the declared surrogate. It is made of differentiable torch operations, so that its own
    derivative is the second-order reference. None for a plain function.
    """

    forward: Callable[..., Any]
    vjp: Callable[..., Args] | None = None


@dataclass(frozen=True)
class Contract:
    """Which freedoms an exercise grants and what it asks beyond right values. The battery reads its checks from here.

    second_order      what is asked of the second derivative: right_or_raises (never silently wrong; once_differentiable
                      is fine), required, must_raise, or ignored (surrogates whose second derivative says nothing)
    surrogate         the gradient is declared, not true: gradcheck must FAIL, the VJP must equal the reference's
    saved_bytes       the most bytes that may be kept for backward, given the arguments; None is no limit
    saved_tensors     the same as a count of floating-point tensors that may be kept; None is no limit
    returned_shapes   backward itself must return gradients of the inputs' shapes (else the engine may reduce them)
    output_is_input   forward may return its input or a view of it
    inner_autograd    backward may call torch.autograd or torch.func to differentiate
    low_precision     also run in float32 and bfloat16
    random            the output is random: checks that compare with the reference do not apply, the exercise's own do
    tolerance         relative tolerance of float64 comparisons
    """

    second_order: SecondOrder = "right_or_raises"
    surrogate: bool = False
    saved_bytes: Callable[..., int] | None = None
    saved_tensors: int | None = None
    returned_shapes: bool = False
    output_is_input: bool = False
    inner_autograd: bool = False
    low_precision: bool = True
    random: bool = False
    tolerance: float = 1e-9


@dataclass(frozen=True)
class Implementation:
    """One executable way of doing an exercise: `thing` is the class or function, `source` its text under
    the symbol.

    `source` can stand as the content of a solution cell; None where the implementation is derived, not
    written. It may be given as a function, called when the text is wanted: a learner's check wants none.
    """

    id: str
    thing: Any
    written: str | Callable[[], str] | None = field(default=None, repr=False)

    @property
    def source(self) -> str | None:
        return self.written() if callable(self.written) else self.written


@dataclass(frozen=True)
class Misconception(Implementation):
    """A classic wrong answer. `sentence` is what its author needs to hear, without giving the answer away."""

    sentence: str = ""


@dataclass(frozen=True)
class Variant(Implementation):
    """A right answer in another style: the battery must accept it.

    `why` is one sentence on why one would choose it; a variant that has one is shown by `solution()`.
    """

    why: str = ""


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise. Misconceptions and variants are added with the decorators below, right after the
    exercise.

    kind "function" is an autograd.Function called through .apply; kind "plain" is a Python function.
    `outputs` counts the tensors a Function gives. `not_derived` names derived misconceptions to leave out
    because a written one is the same mistake. `checks` are the exercise's own checks, run after the
    battery's; `stages` says which share of the points each stage of checks earns. `digest(value, *args)`
    gives what the diagnosis compares of a plain function's value, where many values are right.
    """

    id: str
    lesson: str
    title: str
    symbol: str
    kind: Literal["function", "plain"]
    points: int
    reference: Reference
    inputs: Inputs
    outputs: int = 1
    contract: Contract = Contract()
    checks: tuple[Check, ...] = ()
    hints: tuple[str, ...] = ()
    not_derived: tuple[str, ...] = ()
    digest: Callable[..., Any] | None = None
    stages: dict[str, float] = field(
        default_factory=lambda: {"forward": 0.2, "gradient": 0.5, "contract": 0.3}
    )
    written_misconceptions: list[Misconception] = field(default_factory=list, repr=False)
    variants: list[Variant] = field(default_factory=list, repr=False)

    def misconception(self, id: str, sentence: str) -> Callable[[Thing], Thing]:
        """Decorator: this class or function is a classic wrong answer to the exercise."""

        def add(thing: Thing) -> Thing:
            source = partial(source_as, self.symbol, thing)
            self.written_misconceptions.append(Misconception(id, thing, source, sentence))
            return thing

        return add

    def variant(self, id: str, why: str = "") -> Callable[[Thing], Thing]:
        """Decorator: this class or function is a right answer in another style."""

        def add(thing: Thing) -> Thing:
            self.variants.append(Variant(id, thing, partial(source_as, self.symbol, thing), why))
            return thing

        return add

    @property
    def misconceptions(self) -> tuple[Misconception, ...]:
        """The written misconceptions, then those derived from the reference (sign, factor, no upstream,
        ...)."""
        from grader.transforms import derived_misconceptions

        return (*self.written_misconceptions, *derived_misconceptions(self))

    def sentence(self, misconception: str) -> str:
        """What a misconception says to its author, by its id; "" for one that the exercise does not have."""
        from grader.transforms import TRANSFORMS

        sentences = {m.id: m.sentence for m in TRANSFORMS} | {m.id: m.sentence for m in self.written_misconceptions}
        return sentences.get(misconception, "")


def source_as(symbol: str, thing: Any) -> str:
    """The source of a decorated class or function, without its decorator, defined under `symbol`."""
    lines = textwrap.dedent(inspect.getsource(thing)).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(("class ", "def ")))
    text = "\n".join(lines[start:]) + "\n"
    return re.sub(rf"\b{re.escape(thing.__name__)}\b", symbol, text)


def by_id(exercises: Iterable[Exercise]) -> dict[str, Exercise]:
    """The exercises as an ordered dict; a doubled id is an error."""
    found: dict[str, Exercise] = {}
    for exercise in exercises:
        if exercise.id in found:
            raise ValueError(f"two exercises have the id {exercise.id!r}")
        found[exercise.id] = exercise
    return found
