"""What a check is: a documented function over a Bench that returns, or raises Failed with fact, cause and
place.

To add a check: write a function with the decorator `check` in the family module it belongs to and list it
in `grader/contract/__init__.py`. Its docstring says what it catches and what it cannot see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from grader.errors import IllPosedTest
from grader.subject import ENDLESS, GONE, NOT_A_TENSOR, Failure

if TYPE_CHECKING:
    from grader.contract.bench import Bench
    from grader.exercise import Exercise

__all__ = ["Check", "Failed", "Stage", "check", "failed_call", "failure_text", "must_reveal"]

Stage = Literal["forward", "gradient", "contract", "value"]


class Failed(Exception):
    """A check's verdict against an implementation.

    fact    what was observed, in plain words with numbers
    cause   the likely cause
    look    where to look, or what to think about; never the answer
    endless the code did not come to an end, so that asking it again would only cost time
    """

    def __init__(self, fact: str, *, cause: str = "", look: str = "", endless: bool = False) -> None:
        super().__init__(fact)
        self.fact, self.cause, self.look, self.endless = fact, cause, look, endless

    def __str__(self) -> str:
        parts = [self.fact]
        if self.cause:
            parts.append(f"Likely cause: {self.cause}")
        if self.look:
            parts.append(f"Where to look: {self.look}")
        return " ".join(parts)


def _always(_: Exercise) -> bool:
    return True


@dataclass(frozen=True)
class Check:
    """One check: its id, the stage of points it belongs to, and for which exercises it applies."""

    id: str
    stage: Stage
    run: Callable[[Bench], None]
    applies: Callable[[Exercise], bool]

    @property
    def doc(self) -> str:
        return (self.run.__doc__ or "").strip()


def check(
    id: str, *, stage: Stage, applies: Callable[[Exercise], bool] = _always
) -> Callable[[Callable[[Bench], None]], Check]:
    """Decorator: turn a documented function over a Bench into a Check."""

    def make(run: Callable[[Bench], None]) -> Check:
        if not run.__doc__:
            raise ValueError(f"check {id!r} has no docstring")
        return Check(id, stage, run, applies)

    return make


def failed_call(failure: Failure, where: str) -> Failed:
    """The verdict on student code that raised, did not end or gave no tensor."""
    text = failure_text(failure, where)
    if failure.type == ENDLESS:
        return Failed(text, cause="an endless loop, or waiting for something that never comes.", endless=True)
    if failure.type == NOT_A_TENSOR:
        return Failed(text, look="what forward returns: it must be a tensor, or a tuple of tensors.")
    cause = next((cause for words, cause in _CAUSES if words in failure.message), "")
    return Failed(text, cause=cause, look="" if cause else "the error and the line it names.")


_CAUSES = (
    (
        "missing 1 required positional argument",
        "`self` or @staticmethod: forward takes ctx first, then the inputs, and no self.",
    ),
    ("object has no attribute 'save_for_backward'", "forward must take ctx as its first argument."),
    (
        "incorrect number of gradients",
        "backward returns one value per argument of forward (ctx not counted).",
    ),
    ("expected Variable or None", "something in the returned tuple is neither a tensor nor None."),
    ("returned an invalid gradient", "a gradient must have the shape of the input it belongs to."),
    ("Expected a gradient of None", "an argument that is no tensor has no gradient."),
    ("You must implement either the backward", "the class has no method named `backward`; see how it is spelt."),
    ("You must implement the forward", "the class has no method named `forward`; see how it is spelt."),
    ("maximum recursion depth", "the Function calls its own apply."),
    (
        "written-to tensor",
        "an in-place write into grad_output, which .sum() sends with all elements in one place.",
    ),
)


def failure_text(failure: Failure, where: str) -> str:
    """One sentence about a call that did not go through."""
    place = f" for {where}" if where else ""
    names = {
        "forward": "forward",
        "backward": "backward",
        "second": "the second derivative",
        "call": "your function",
    }
    who = names.get(failure.stage, failure.stage)
    if failure.type == ENDLESS:
        return f"{who} did not come to an end{place}: {failure.message}."
    if failure.type == GONE:
        return f"{who} ended the whole Python process{place}: {failure.message}."
    if failure.type == NOT_A_TENSOR:
        return f"For {where} {failure.message}." if where else f"{failure.message}."
    return f"{who} raised an error{place}: {failure}."


def must_reveal(condition: bool, why: str) -> None:
    """Refuse inputs that could not have shown the fault."""
    if not condition:
        raise IllPosedTest(f"the test's own inputs cannot reveal the fault: {why}")
