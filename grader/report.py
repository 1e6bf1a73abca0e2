"""Findings and the report: what a verdict is, and its JSON.

How it looks stands in report_text.py (lines, plain or in colour) and report_html.py (a notebook's), and the picture of
where an answer goes wrong in where/.
"""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from grader.where import Where

__all__ = ["Finding", "Report"]

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
    where         what the picture is drawn from; None where there is none
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
    where: Where | None = field(default=None, repr=False)

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

    def whole(self) -> dict[str, Any]:
        """Everything in it as plain JSON, for a report that is shown by another process."""
        return {**asdict(self), "where": None if self.where is None else self.where.to_dict()}

    @staticmethod
    def from_whole(found: dict[str, Any]) -> Report:
        """The report that `whole` gave. ValueError or TypeError where it is anything else."""
        plain = {f.name: _frozen(found[f.name]) for f in fields(Report) if f.name not in ("findings", "where")}
        where = None if found["where"] is None else Where.from_dict(found["where"])
        return Report(**plain, findings=tuple(Finding(**f) for f in found["findings"]), where=where)

    # ---- what it says --------------------------------------------------------------------------------------------

    def headline(self) -> str:
        score = f"{self.points:g} of {self.out_of} points"
        if not self.started:
            return f"{self.title}: not written yet (0 of {self.out_of} points)"
        if self.passed:
            return f"{self.title}: right, {score}"
        return f"{self.title}: not there yet, {score}"

    def why(self) -> str:
        """The diagnosis in plain words; "" where there is nothing to say beyond the findings."""
        if self.explanations:
            return self.explanations[0]
        if self.passed or not self.started or {f.check for f in self.failed} & _NOT_RUN:
            return ""
        if not self.failed or "raised an error" in self.failed[0].message:
            return ""
        return "No known mistake fits exactly; the findings say what was seen."

    def text(self) -> str:
        """The report as plain text."""
        from grader.report_text import plain

        return plain(self)

    def __str__(self) -> str:
        return self.text()

    def html(self) -> str:
        """The report as an HTML fragment with its own style, readable in light and dark themes and without it."""
        from grader.report_html import html

        return html(self, None)

    # ---- in a notebook -------------------------------------------------------------------------------------------

    def _ipython_display_(self) -> None:
        """Show the report, and its picture where there is one (see report_html for how)."""
        from IPython.display import display

        from grader.report_html import bundles

        for data, metadata in bundles(self):
            with contextlib.suppress(BrokenPipeError):
                display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text())


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
