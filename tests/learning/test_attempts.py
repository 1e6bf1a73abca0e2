"""What counts as another attempt: other code, not other comments; and nothing a learner builds makes it fail."""

from __future__ import annotations

from typing import Any

import pytest

from grader.learning.attempts import fingerprint


def made(text: str) -> Any:
    space: dict[str, Any] = {}
    exec(text, space)
    return space["f"]


BODY = "def f(x):\n    {}\n"


@pytest.mark.parametrize("text", ["return 2 * x  # twice", "\n\n    return 2 * x", "return (2 * x)"])
def test_layout_and_comments_do_not_count(text: str) -> None:
    assert fingerprint(made(BODY.format(text))) == fingerprint(made(BODY.format("return 2 * x")))


@pytest.mark.parametrize(
    "text", ["return 3 * x", "return 2.0 * x", "return 2 + x", "return x.two()", "return [2 for _ in x]"]
)
def test_other_code_does(text: str) -> None:
    assert fingerprint(made(BODY.format(text))) != fingerprint(made(BODY.format("return 2 * x")))


def test_a_change_in_one_method_of_a_class_does() -> None:
    text = (
        "class f:\n    @staticmethod\n    def forward(ctx, x):\n        return x\n"
        "    @{}\n    def backward(ctx, g):\n        return {}\n"
    )
    plain, other = made(text.format("staticmethod", "g")), made(text.format("staticmethod", "-g"))
    assert fingerprint(plain) != fingerprint(other)
    assert fingerprint(plain) == fingerprint(made(text.format("staticmethod", "g")))
    assert len(fingerprint(plain)) == 16


def test_things_without_code_have_none() -> None:
    class Hostile(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError(name)

    class Odd(metaclass=Hostile):
        def f(self) -> None: ...

    assert [fingerprint(thing) for thing in (None, 3, print, Odd)] == ["", "", "", ""]
