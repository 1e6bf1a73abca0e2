"""What an id in a report means."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from grader import checking
from grader.contract import CHECKS
from grader.learning.explain import explain


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_check_is_explained_by_its_docstring(check: object) -> None:
    words = check.doc.split()  # type: ignore[attr-defined]
    assert " ".join(words[:8]) in str(explain(check.id))  # type: ignore[attr-defined]


def test_every_finding_of_a_misfit_is_explained() -> None:
    for report in (checking.check("nosuch", None), checking.check("relu", 3)):
        (finding,) = report.findings
        assert "What `" in str(explain(finding.check))


def test_misconception_of_several_exercises() -> None:
    text = str(explain("half_mask"))
    assert "A classic mistake in `relu`. You mask only half of it." in text
    assert "A classic mistake in `sign_clipped`. Half of the window is missing." in text


def test_derived_misconception_is_explained_once() -> None:
    assert str(explain("doubled")).count("classic mistake") == 1


def test_exercise_names_its_checks() -> None:
    text = str(explain("relu"))
    assert "`MyReLU`" in text
    assert "`upstream_linearity`" in text
    assert "`value`" not in text, "that one is for plain functions"


def test_report_is_explained_from_diagnosis_and_failed_checks() -> None:
    findings = [SimpleNamespace(check="forward", passed=True), SimpleNamespace(check="vjp", passed=False)]
    text = str(explain(SimpleNamespace(diagnosis=["half_mask"], findings=findings)))
    assert text.index("`half_mask`") < text.index("`vjp`")
    assert "`forward`:" not in text
    assert "Every check passed" in str(explain(SimpleNamespace(diagnosis=[], findings=findings[:1])))


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("upstream_linear", "`upstream_linearity`"),
        ("half_mas", "`half_mask`"),
        ("qqqq", "These checks can be explained: `"),
        ("", "Explain what?"),
        (7, "Nothing to explain about this int"),
    ],
)
def test_unknown_is_a_message(what: object, expected: str) -> None:
    assert expected in str(explain(what))
