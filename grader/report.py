"""Findings and reports, and how they look as text, HTML and JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["Finding", "Report"]

_STYLE = (
    ".grader-report{border-left:4px solid var(--gr-tone);padding:.4em .9em;margin:.4em "
    "0;font-family:var(--jp-ui-font-family,system-ui,sans-serif);line-height:1.45;max-width:60em}"
    ".grader-report.ok{--gr-tone:#2e9e5b}.grader-report.no{--gr-tone:#c8731f}.grader-report.todo{--gr-tone:#7a8599}"
    ".grader-report b.gr-head{color:var(--gr-tone);font-size:1.05em}.grader-report ul{margin:.35em "
    "0;padding-left:1.2em}"
    ".grader-report pre{overflow-x:auto;padding:.4em .6em;background:rgba(128,128,128,.1)}"
    ".grader-report summary{cursor:pointer;font-size:.9em;opacity:.85}"
    ".grader-report li{margin:.2em 0}.grader-report "
    ".gr-why{border-radius:4px;background:rgba(128,128,128,.13);padding:.45em .7em;margin:.4em 0}"
    ".grader-report .gr-small{opacity:.75;font-size:.9em}.grader-report code{font-size:.92em}"
)


_NOT_RUN = {"exercise", "kind", "runs", "torch_untouched"}


@dataclass(frozen=True)
class Finding:
    """The outcome of one check. `message` is "" for a check that passed without remark.

    `reproduction` is code that repeats what a failed check did last; "" where there is none.
    """

    check: str
    passed: bool
    message: str = ""
    reproduction: str = field(default="", repr=False)


@dataclass(frozen=True)
class Report:
    """The verdict on one implementation of one exercise.

    points        out of `out_of`, rounded to 2 digits
    diagnosis     ids of the known mistakes that fit, best first; empty where none fits
    explanations  one sentence per id in `diagnosis`
    unjudged      checks whose own inputs could not have revealed a fault (a defect of the grader; no points lost)
    started       False while the exercise still raises NotImplementedError
    remarks       things seen on the side: prints, warnings
    """

    exercise: str
    title: str
    passed: bool
    points: float
    out_of: int
    findings: tuple[Finding, ...]
    diagnosis: tuple[str, ...] = ()
    explanations: tuple[str, ...] = ()
    unjudged: tuple[str, ...] = ()
    started: bool = True
    remarks: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if not f.passed)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: exercise, passed, points, out_of, findings (check, passed, message), diagnosis."""
        return {
            "exercise": self.exercise,
            "passed": self.passed,
            "points": self.points,
            "out_of": self.out_of,
            "findings": [{"check": f.check, "passed": f.passed, "message": f.message} for f in self.findings],
            "diagnosis": list(self.diagnosis),
        }

    # ---- text ----------------------------------------------------------------------------------------------------

    def headline(self) -> str:
        score = f"{self.points:g} of {self.out_of} points"
        if not self.started:
            return f"{self.title}: not written yet (0 of {self.out_of} points)"
        if self.passed:
            return f"{self.title}: right, {score}"
        return f"{self.title}: not there yet, {score}"

    def _why(self) -> str:
        if self.explanations:
            return self.explanations[0]
        if self.passed or not self.started or {f.check for f in self.failed} & _NOT_RUN:
            return ""
        if not self.failed or "raised an error" in self.failed[0].message:
            return ""
        return "No known mistake fits exactly; the findings say what was seen."

    def text(self) -> str:
        """The report as plain text."""
        lines = [("✓ " if self.passed else "✗ ") + self.headline()]
        if self._why():
            lines.append(f"  Diagnosis: {self._why()}")
        lines += [f"  - {f.check}: {f.message}" for f in self.failed[:3]]
        if len(self.failed) > 3:
            lines.append(f"  - and {len(self.failed) - 3} more: {', '.join(f.check for f in self.failed[3:])}")
        lines += [f"  - not judged: {text}" for text in self.unjudged]
        lines += [f"  note: {text}" for text in self.remarks]
        if self.failed and self.failed[0].reproduction:
            lines.append(f"  To see {self.failed[0].check} fail, run:")
            lines += [f"      {line}" for line in self.failed[0].reproduction.splitlines()]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    # ---- HTML ----------------------------------------------------------------------------------------------------

    def html(self) -> str:
        """The report as an HTML fragment with its own style, readable in light and dark themes."""
        kind = "todo" if not self.started else "ok" if self.passed else "no"
        parts = [
            f"<style>{_STYLE}</style><div class='grader-report {kind}'><b "
            f"class='gr-head'>{escape(self._mark())} {escape(self.headline())}</b>"
        ]
        if self._why():
            parts.append(f"<div class='gr-why'>{_code(self._why())}</div>")
        if self.failed and self.started:
            items = "".join(f"<li><code>{escape(f.check)}</code>: {_code(f.message)}</li>" for f in self.failed[:3])
            parts.append(f"<ul>{items}</ul>{self._again()}")
        parts.append(self._small_print())
        return "".join(parts) + "</div>"

    def _again(self) -> str:
        first = self.failed[0]
        if not first.reproduction:
            return ""
        summary = f"<summary>See <code>{escape(first.check)}</code> fail yourself</summary>"
        return f"<details>{summary}<pre>{escape(first.reproduction)}</pre></details>"

    def _mark(self) -> str:
        return "…" if not self.started else "✓" if self.passed else "✗"

    def _small_print(self) -> str:
        notes = []
        if not self.started:
            notes.append(
                "Replace the line that raises NotImplementedError by your answer, run that cell, then this one."
            )
        passed = sum(f.passed for f in self.findings)
        if self.started:
            more = len(self.failed) - 3
            notes.append(
                f"{passed} of {len(self.findings)} checks passed."
                + (f" {more} more findings not shown." if more > 0 else "")
            )
        notes += [*self.unjudged, *self.remarks]
        shown = "".join(f"<div class='gr-small'>{_code(note)}</div>" for note in notes)
        return shown + (self._stuck() if self.failed and self.started else "")

    def _stuck(self) -> str:
        hint, explain = f'hint("{self.exercise}")', f'explain("{self.failed[0].check}")'
        return f"<div class='gr-small'>Stuck? <code>{escape(hint)}</code> · <code>{escape(explain)}</code></div>"

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text())


def _code(text: str) -> str:
    """Escaped text with `...` shown as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
