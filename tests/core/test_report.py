"""Reports as text, HTML and JSON, on verdicts made by hand."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from grader.report import Finding, Report
from grader.report_text import in_colour
from grader.where import Line, Plot, Where

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
PLOT = Plot("gradient", "x", (0.0, 1.0), (Line("slope", "right", (0.0, 1.0)), Line("yours", "yours", (1.0, None))))
SHOWN = replace(WRONG, where=Where('Wrong for x < 0 & "more".', (PLOT,)))
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
    assert 'hint("relu")' in page.text
    assert 'explain("vjp")' in page.text


def folded(page: str) -> list[str]:
    return re.findall(r"<details.*?</details>", page)


def test_html_folds_what_is_not_needed_at_once() -> None:
    """A mistake that has a name is shown with one failed check; else with the first three. What passed is folded."""
    others, again, passed = folded(WRONG.html())
    assert "3 more failed" in others
    assert "device says no." in others
    assert "vjp says no." not in others
    assert "MyReLU.apply(vjp)</pre>" in again
    assert "<summary>1 of 5 checks passed</summary><p><code>forward</code></p>" in passed
    others, *_ = folded(replace(WRONG, diagnosis=(), explanations=()).html())
    assert "1 more failed" in others
    assert "kinks says no." not in others


def test_html_reads_without_its_style() -> None:
    """As in a viewer that drops <style>, classes and attributes: the order tells what belongs to what."""
    bare = Balanced(re.sub(r"<style>.*?</style>", "", WRONG.html())).text
    said = [
        "not there yet",
        "wrong way round",
        "vjp says no.",
        "more failed",
        "device says no.",
        "fail yourself",
        "1 of 5",
    ]
    assert sorted(said, key=bare.index) == said


def test_causes_stand_on_lines_of_their_own() -> None:
    message = "Wrong: 1 instead of 2. Likely cause: a sign. Where to look: backward."
    report = replace(WRONG, findings=(Finding("vjp", False, message),))
    lines = report.text().splitlines()
    assert lines[2:5] == [
        "  - vjp: Wrong: 1 instead of 2.",
        "    Likely cause: a sign.",
        "    Where to look: backward.",
    ]
    assert ">Likely cause: a sign.</div>" in report.html()


def test_a_report_travels_whole() -> None:
    for report in (RIGHT, WRONG, TODO, SHOWN):
        assert Report.from_whole(json.loads(json.dumps(report.whole()))) == report


def test_where_is_in_words_but_not_in_the_json() -> None:
    assert '  Where: Wrong for x < 0 & "more".' in SHOWN.text().splitlines()
    assert SHOWN.to_dict() == WRONG.to_dict()


def test_html_of_an_unwritten_exercise_shows_no_findings() -> None:
    page = Balanced(TODO.html())
    assert "not written yet" in page.text
    assert "Replace the line that raises NotImplementedError" in page.text
    assert "li" not in page.tags
    assert "Stuck?" not in page.text


@pytest.mark.parametrize(
    "where", ["exercise", "title", "check", "message", "explanation", "unjudged", "remark", "again", "where"]
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
        where=Where(at("where", "here"), ()),
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


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Report], list[dict[str, Any]]]:
    """What a notebook is given to show of a report."""
    import IPython.display
    from IPython.core.formatters import DisplayFormatter

    def displayed(report: Report) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        monkeypatch.setattr(IPython.display, "display", lambda data, **more: found.append({"data": data, **more}))
        assert DisplayFormatter().format(report) == ({}, {})  # type: ignore[no-untyped-call]
        return found

    return displayed


Displayed = Callable[[Report], list[dict[str, Any]]]


def test_a_notebook_shows_html_and_a_terminal_text(displayed: Displayed) -> None:
    (only,) = displayed(WRONG)
    assert only["data"] == {"text/html": WRONG.html(), "text/plain": WRONG.text()}


def test_the_picture_is_in_the_html_and_after_it(displayed: Displayed) -> None:
    page, after = displayed(SHOWN)
    (image,) = re.findall(r"<img [^>]*>", page["data"]["text/html"])
    words = "Wrong for x &lt; 0 &amp; &quot;more&quot;."
    assert f'alt="{words}"' in image
    assert 'width="1" height="1"' in image
    data = after["data"]["image/png"]
    assert f"data:image/png;base64,{data}" in image
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert SHOWN.where is not None
    assert after["data"]["text/plain"] == SHOWN.where.words
    assert set(after["metadata"]["image/png"]) == {"alt", "width", "height"}
    assert "text/html" not in after["data"]
    assert "script" not in page["data"]["text/html"]


def test_a_picture_that_cannot_be_drawn_leaves_the_words(displayed: Displayed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grader.where.draw", None)
    (only,) = displayed(SHOWN)
    assert "Wrong for x &lt; 0" in only["data"]["text/html"]
    assert "<img" not in only["data"]["text/html"]


def test_a_terminal_gets_colours_and_wraps(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    def printed(**options: Any) -> str:
        console = Console(file=io.StringIO(), force_terminal=True, width=40, color_system="standard", **options)
        in_colour(replace(SHOWN, explanations=("word " * 20,)), console)
        return str(console.file.getvalue())  # type: ignore[attr-defined]

    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = printed()
    assert "\x1b[1;33m✗ ReLU by hand" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed())
    assert "33m" not in printed()
    lines = plain.splitlines()
    assert max(map(len, lines)) <= 40
    diagnosis = lines.index(next(line for line in lines if "Diagnosis:" in line))
    assert lines[diagnosis + 1].startswith(" " * 13 + "word")
