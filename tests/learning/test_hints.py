"""Hints come one by one and are remembered."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.hints import hint
from grader.learning.standing import standing


def first_lines(*cards: object) -> list[str]:
    return [str(card).splitlines()[0] for card in cards]


def test_one_more_each_time(folder: Path) -> None:
    seen = [str(hint("relu")) for _ in range(4)]
    assert [text.splitlines()[0] for text in seen] == [f"Hint {n} of 3 for relu" for n in (1, 2, 3, 3)]
    assert "first" in seen[0]
    assert "second" not in seen[0]
    assert "third" in seen[2]
    assert "That was the last one" in seen[3]
    assert standing("relu").hints == 3


def test_start_over(folder: Path) -> None:
    hint("relu"), hint("relu")
    assert first_lines(hint("relu", again=True), hint("relu")) == [
        "Hint 1 of 3 for relu",
        "Hint 2 of 3 for relu",
    ]
    assert standing("relu").hints == 2, "seeing a hint again is not one more"


def test_goes_on_tomorrow(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hint("relu")
    monkeypatch.setattr(journal, "_unrecorded", [])  # another kernel, another day
    assert first_lines(hint("relu")) == ["Hint 2 of 3 for relu"]


def test_exercises_do_not_share_a_count(folder: Path) -> None:
    hint("relu")
    assert first_lines(hint("sign_clipped")) == ["Hint 1 of 1 for sign_clipped"]


def test_html_folds_the_earlier_ones_and_escapes(folder: Path) -> None:
    hint("relu")
    html = hint("relu")._repr_html_()
    assert "<code>a &lt; b</code>" in html
    assert "<li>first</li>" in html
    assert "third" not in html


def test_class_and_its_name_do_for_the_id(folder: Path) -> None:
    MyReLU = type("MyReLU", (), {})
    assert first_lines(hint(MyReLU), hint("MyReLU")) == ["Hint 1 of 3 for relu", "Hint 2 of 3 for relu"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("reul", "Did you mean `relu`?"),
        ("RELU", "Did you mean `relu`?"),
        ("MyRelu", "Did you mean `relu`?"),
        ("sign", "Did you mean `sign_clipped`?"),
        ("zzz", "`progress()` lists the exercises"),
        ("", "`progress()` lists the exercises"),
        (7, "no exercise called `7`"),
        (None, "no exercise called `None`"),
        ("<b>", "no exercise called `<b>`"),
    ],
)
def test_unknown_id_is_a_message(folder: Path, name: object, expected: str) -> None:
    card = hint(name)
    assert expected in str(card)
    assert "<b>" not in card._repr_html_()
    assert not (folder / ".grader").exists()


def test_exercise_without_hints(folder: Path) -> None:
    assert "no hints" in str(hint("swish"))


def test_shorter_list_of_hints_in_a_newer_course(folder: Path, course: dict[str, Exercise]) -> None:
    journal.append({"kind": "hint", "exercise": "sign_clipped", "number": 5})
    assert first_lines(hint("sign_clipped")) == ["Hint 1 of 1 for sign_clipped"]
