"""Answers that are alike: copies are found under other names, and what comes about by chance is not."""

from __future__ import annotations

import math
import random
from itertools import combinations

import pytest

from grader.classroom.likeness import alike, marks

GIVEN = '''class MyReLU(Function):
    """Rectifier."""

    @staticmethod
    def forward(ctx, x):
        # TODO relu: keep what backward needs
        raise NotImplementedError
'''
ANSWER = '''class MyReLU(Function):
    """Rectifier."""

    @staticmethod
    def forward(ctx, x):
        # TODO relu: keep what backward needs
        kept = x > 0  # remember where the line goes up
        ctx.save_for_backward(kept)
        return torch.where(kept, x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, grad_output):
        (kept,) = ctx.saved_tensors
        return grad_output * kept.to(grad_output.dtype)
'''
RENAMED = (
    ANSWER.replace("kept", "m")
    .replace("grad_output", "g")
    .replace("  # remember where the line goes up", "")
    .replace('    """Rectifier."""\n', "")
    .replace("(ctx, x)", "(ctx,  x )")
)


def kinds(one: str, other: str) -> set[str]:
    """The kinds of marks that two answers share: t text, f form, c comment, r runs of tokens."""
    return {mark[0] for mark in set(marks(one, GIVEN)) & set(marks(other, GIVEN))}


def test_marks() -> None:
    assert kinds(ANSWER, ANSWER) == {"t", "f", "c", "r"}
    assert kinds(ANSWER, ANSWER.replace("\n\n", "\n   \n\n")) == {"t", "f", "c", "r"}
    assert kinds(ANSWER, RENAMED) == {"f", "r"}
    assert kinds(ANSWER, ANSWER.replace("x > 0", "x >= 0")) == {"c", "r"}
    assert kinds(ANSWER, ANSWER.replace("Rectifier", "Mine").replace(": go", "")) == {"f", "c", "r"}
    assert kinds(ANSWER, "def f(a, b):\n    return [a ** i for i in range(b) if i % 3]") == set()
    assert "f" not in kinds(
        "a = b + c + d + e + f", "a = b + c + d + e + b"
    )  # other names are one thing, mixed ones another


@pytest.mark.parametrize("text", ["", GIVEN, GIVEN + "\n", "\n\n" + GIVEN, "# only a comment", "x" * 9000])
def test_what_is_no_answer_has_no_marks(text: str) -> None:
    assert marks(text, GIVEN) == ()


@pytest.mark.parametrize(
    "text", ["def f(:\n  return '", "\0", "class A:\n\tpass\n  x", "'''", "((((" * 300, "é = '\ud800'"]
)
def test_what_is_no_python_is_compared_as_it_is(text: str) -> None:
    assert marks(text, GIVEN) == marks(text, GIVEN)


def crowd(people: int, exercises: int, forms: int, seed: int = 0) -> dict[str, dict[str, str]]:
    """Answers drawn by chance from a few forms."""
    chance = random.Random(seed)
    return {
        f"s{number}": {
            f"e{e}": f"y = x ** {chance.randrange(forms)} + torch.exp(x) * {e}\nz = y.sum() - y.mean()"
            for e in range(exercises)
        }
        for number in range(people)
    }


def found(answers: dict[str, dict[str, str]]) -> list[tuple[str, str]]:
    marked = ((who, "1", {e: marks(text, "") for e, text in each.items()}) for who, each in answers.items())
    return [pair.students for pair in alike(marked)]


def test_a_copy_is_found_among_many() -> None:
    answers = crowd(60, 6, 12)
    assert found(answers) == []
    answers["s7"] |= {f"e{e}": f"q = torch.tanh(x) / {e}\nw = [q for k in range(9)]" for e in range(5)}
    answers["s41"] |= {f"e{e}": f"r = torch.tanh(x) / {e}  # mine\nv = [r for i in range(9)]" for e in range(5)}
    assert found(answers) == [("s41", "s7")]
    answers["s9"]["e5"] = answers["s10"]["e5"] = "u = torch.sinh(x)\nfor i in range(3): u = u + i"
    assert ("s10", "s9") not in found(answers)  # one short answer alone says nothing


def test_what_many_write_says_nothing() -> None:
    answers = {f"s{number}": dict.fromkeys(("a", "b", "c"), ANSWER) for number in range(40)}
    assert found(answers) == []
    assert found({"one": {"a": ANSWER}}) == []
    assert found({"one": {"a": ANSWER}, "two": {"a": ANSWER}}) == []  # two of two: there is nobody to compare with
    assert found({}) == []


def test_as_a_search_of_all_pairs_finds_it() -> None:
    """For whole answers: the bits that two share, added up pair by pair."""
    answers = crowd(50, 8, 16, seed=3)
    answers["s4"] |= {f"e{e}": answers["s30"][f"e{e}"] for e in range(8)}
    expected = {}
    for pair in combinations(sorted(answers), 2):
        bits, same = 0.0, 0
        for e in answers["s0"]:
            texts = [each[e] for each in answers.values()]
            holders = texts.count(answers[pair[0]][e])
            if answers[pair[0]][e] == answers[pair[1]][e] and holders <= min(8, 50 // 8):
                bits, same = bits + math.log2(50 / holders), same + 1
        bits -= math.log2(math.comb(8, same))
        if bits > math.log2(50 * 49 / 2):
            expected[pair] = bits
    marked = [(who, "1", {e: marks(text, "") for e, text in each.items()}) for who, each in answers.items()]
    assert {pair.students: pytest.approx(pair.bits) for pair in alike(marked)} == expected
    assert ("s30", "s4") in expected


def test_a_lesson_copied_by_two_who_wrote_the_rest_themselves() -> None:
    answers = crowd(60, 24, 24, seed=5)
    assert found(answers) == []
    answers["s8"] |= {f"e{e}": answers["s50"][f"e{e}"] for e in range(6)}
    lessons = {f"e{e}": str(e // 6) for e in range(24)}
    marked = []
    for who, each in answers.items():
        for lesson in set(lessons.values()):
            marked.append((who, lesson, {e: marks(text, "") for e, text in each.items() if lessons[e] == lesson}))
    assert [pair.students for pair in alike(marked)] == [("s50", "s8")]
