"""Lesson 01: the quiz on who calls a method named backward."""

from __future__ import annotations

from grader.exercise import Exercise, Reference
from grader.inputs import Inputs

__all__ = ["who_calls_backward"]

who_calls_backward = Exercise(
    id="who_calls_backward",
    lesson="01_contract",
    title="Who calls this backward?",
    symbol="who_calls_backward",
    kind="plain",
    points=1,
    reference=Reference(forward=lambda: "c"),
    inputs=Inputs(generic=lambda _: ()),
    stages={"value": 1.0},
    hints=(
        "What does autograd record while forward runs: modules, or operations on tensors?",
        "Look at y.grad_fn in the cell above: does the module appear anywhere in that chain?",
        "Count how often the message of that backward was printed.",
    ),
)


@who_calls_backward.misconception(
    "autograd_does",
    "autograd runs the backward of each recorded operation, and a module is no operation: it never appears "
    "in the graph.",
)
def answer_autograd():
    return "a"


@who_calls_backward.misconception(
    "optimizer_does",
    "The optimizer reads .grad and changes the parameters. By then every backward is over, and it never "
    "looks at modules.",
)
def answer_optimizer():
    return "b"


@who_calls_backward.misconception(
    "registered_as_hook",
    "A hook has to be registered by hand. A method does not become one by having the right name.",
)
def answer_hook():
    return "d"


@who_calls_backward.variant(
    "letter",
    "Autograd records operations on tensors. A module is none, and so its method named backward has no caller.",
)
def answer_letter():
    return "c"


@who_calls_backward.variant("from_choices")
def answer_from_choices():
    return "abcd"[2]
