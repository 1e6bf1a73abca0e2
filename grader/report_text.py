"""A report as lines: plain for `print`, a pipe and the feedback of a class; wrapped and in colour for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from grader.report import Finding, Report

__all__ = ["SHOWN", "in_colour", "parts", "plain", "show"]

SHOWN = 3  # failed checks told in full
_CUT = re.compile(r" (?=Likely cause: |Where to look: )")


@dataclass(frozen=True)
class _Line:
    """One paragraph: how far in it stands, how far its further lines, and in what style the terminal shows it."""

    text: str
    style: str = ""
    indent: int = 2
    hang: int = 0
    named: int = 0  # so many characters at the start name what the line is
    code: bool = False


def plain(report: Report) -> str:
    """The report as plain text; no line of it is wrapped."""
    return "\n".join(" " * line.indent + line.text for line in _lines(report))


def parts(finding: Finding) -> tuple[str, ...]:
    """A failed check's message: what was seen, then the likely cause and where to look, if it says so."""
    return tuple(_CUT.split(finding.message))


def _lines(report: Report) -> Iterator[_Line]:
    tone = "bold yellow" if report.started and not report.passed else "bold green" if report.passed else "bold"
    yield _Line(("✓ " if report.passed else "✗ ") + report.headline(), tone, indent=0, hang=2)
    if report.why():
        yield _Line(f"Diagnosis: {report.why()}", "bold", hang=11)
    for finding in report.failed[:SHOWN]:
        fact, *more = parts(finding)
        yield _Line(f"- {finding.check}: {fact}", hang=2, named=len(finding.check) + 3)
        for text in more:
            yield _Line(text, "dim", indent=4, hang=text.index(": ") + 2)
    if len(report.failed) > SHOWN:
        others = ", ".join(f.check for f in report.failed[SHOWN:])
        yield _Line(f"- and {len(report.failed) - SHOWN} more: {others}", hang=2)
    if report.where is not None:
        yield _Line(f"Where: {report.where.words}", hang=7, named=6)
    for text in report.unjudged:
        yield _Line(f"- not judged: {text}", hang=2)
    for text in report.remarks:
        yield _Line(f"note: {text}", hang=6)
    if report.failed and report.failed[0].reproduction:
        yield _Line(f"To see {report.failed[0].check} fail, run:")
        for text in report.failed[0].reproduction.splitlines():
            yield _Line(text, "cyan", indent=6, code=True)


def show(report: Report) -> None:
    """Print the report on stdout: in colour on a terminal (NO_COLOR is honoured), plain where it is piped."""
    from rich.console import Console

    console = Console(highlight=False)
    if console.is_terminal:
        in_colour(report, console)
    else:
        print(plain(report))


def in_colour(report: Report, console: Console) -> None:
    """Print the report to a terminal: wrapped to its width under hanging indents; code is never wrapped."""
    from rich.padding import Padding
    from rich.text import Text

    for line in _lines(report):
        if line.code:
            console.print(Text(" " * line.indent + line.text, style=line.style), soft_wrap=True)
            continue
        text = Text(line.text, style=line.style)
        text.stylize("bold", 0, line.named)
        left = line.indent + line.hang
        first, *more = text.wrap(console, max(24, console.width - left))
        console.print(Padding(first, (0, 0, 0, line.indent)))
        for rest in more:
            console.print(Padding(rest, (0, 0, 0, left)))
