"""Reports as text, HTML and JSON, on verdicts made by hand."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from grader.report import Finding, Report

EVIL = "<script>alert('x')</script> & \"quotes\" `x < 0`"
RIGHT = Report("relu", "ReLU by hand", True, 4.0, 4, (Finding("forward", True), Finding("vjp", True)))
WRONG = Report(
    "relu",
    "ReLU by hand",
    False,
    0.8,
    4,
    (
        Finding("forward", True),
        *(Finding(id, False, f"{id} says no.", f"MyReLU.apply({id})") for id in ("vjp", "kinks", "freed", "device")),
    ),
    diagnosis=("mask_inverted", "zeros"),
    explanations=("Your mask is the wrong way round.", "Your backward returns zeros."),
    unjudged=("extreme_gradient: no",),
    remarks=("Your code prints.",),
)
TODO = Report("relu", "ReLU by hand", False, 0.0, 4, (Finding("forward", False, "NotImplementedError"),), started=False)


class Balanced(HTMLParser):
    """Collects tags, and fails where they are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def test_json_is_box_b_and_nothing_else() -> None:
    assert json.loads(json.dumps(WRONG.to_dict())) == {
        "exercise": "relu",
        "passed": False,
        "points": 0.8,
        "out_of": 4,
        "findings": [
            {"check": "forward", "passed": True, "message": ""},
            {"check": "vjp", "passed": False, "message": "vjp says no."},
            {"check": "kinks", "passed": False, "message": "kinks says no."},
            {"check": "freed", "passed": False, "message": "freed says no."},
            {"check": "device", "passed": False, "message": "device says no."},
        ],
        "diagnosis": ["mask_inverted", "zeros"],
    }


def test_text_of_a_wrong_answer() -> None:
    lines = WRONG.text().splitlines()
    assert lines[0] == "✗ ReLU by hand: not there yet, 0.8 of 4 points"
    assert lines[1] == "  Diagnosis: Your mask is the wrong way round."
    assert lines[2] == "  - vjp: vjp says no."
    assert "  - and 1 more: device" in lines
    assert "  - not judged: extreme_gradient: no" in lines
    assert "  note: Your code prints." in lines
    assert lines[-1].strip() == "MyReLU.apply(vjp)"
    assert str(WRONG) == WRONG.text()


def test_text_of_a_right_answer_is_one_line() -> None:
    assert RIGHT.text() == "✓ ReLU by hand: right, 4 of 4 points"


def test_no_mistake_is_guessed() -> None:
    plain = Report("relu", "ReLU", False, 0.0, 4, (Finding("vjp", False, "wrong."),))
    assert "No known mistake fits exactly" in plain.text()
    raised = Report("relu", "ReLU", False, 0.0, 4, (Finding("forward", False, "forward raised an error: X."),))
    not_run = Report("relu", "ReLU", False, 0.0, 4, (Finding("runs", False, "endless."),))
    for report in (raised, not_run, TODO, RIGHT):
        assert "Diagnosis" not in report.text()


def test_html_has_the_same_content() -> None:
    page = Balanced(WRONG.html())
    for text in ("not there yet, 0.8 of 4 points", "wrong way round", "kinks says no.", "1 of 5 checks passed"):
        assert text in page.text
    assert "1 more findings not shown" in page.text
    assert 'hint("relu")' in page.text
    assert 'explain("vjp")' in page.text
    assert "device says no." not in page.text


def test_html_of_an_unwritten_exercise_shows_no_findings() -> None:
    page = Balanced(TODO.html())
    assert "not written yet" in page.text
    assert "Replace the line that raises NotImplementedError" in page.text
    assert "li" not in page.tags
    assert "Stuck?" not in page.text


@pytest.mark.parametrize(
    "where", ["exercise", "title", "check", "message", "explanation", "unjudged", "remark", "again"]
)
def test_students_text_is_escaped(where: str) -> None:
    def at(place: str, otherwise: str) -> str:
        return EVIL if where == place else otherwise

    report = Report(
        at("exercise", "relu"),
        at("title", "ReLU"),
        False,
        0.0,
        4,
        (Finding(at("check", "vjp"), False, at("message", "no"), at("again", "code")),),
        explanations=(at("explanation", "because"),),
        unjudged=(at("unjudged", "kinks: no"),),
        remarks=(at("remark", "prints"),),
    )
    page = Balanced(report.html())
    assert "script" not in page.tags
    assert "<script>alert('x')</script> & \"quotes\"" in page.text
    assert EVIL in report.text() or where == "exercise"


def test_backticks_become_code_even_if_one_is_missing() -> None:
    report = Report("relu", "ReLU", False, 0.0, 4, (Finding("vjp", False, "use `x` and `y"),))
    assert "use <code>x</code> and <code>y</code>" in report.html()
    Balanced(report.html())


def luminance(colour: str) -> float:
    """WCAG's relative luminance of #rrggbb."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * p for weight, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_colours_read_in_light_and_dark_themes() -> None:
    """The text keeps the theme's colour, grounds are see-through, and the tones stand out on both grounds."""
    (style,) = re.findall("<style>(.*?)</style>", WRONG.html())
    assert set(re.findall(r"(?<![-\w])color:([^;}]+)", style)) == {"var(--gr-tone)"}
    assert all(ground.startswith("rgba(") for ground in re.findall(r"background:([^;}]+)", style))
    tones = re.findall(r"--gr-tone:(#\w{6})", style)
    assert len(tones) == 3
    for tone in tones:
        for ground in ("#ffffff", "#111111"):
            assert contrast(tone, ground) >= 3, (tone, ground)


def test_a_notebook_shows_html_and_a_terminal_text() -> None:
    from IPython.core.formatters import DisplayFormatter

    data, _ = DisplayFormatter().format(WRONG)  # type: ignore[no-untyped-call]
    assert data["text/html"] == WRONG.html()
    assert data["text/plain"] == WRONG.text()
