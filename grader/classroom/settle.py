"""Turns the outputs of a test cell into a score that nbgrader cannot misread.

nbgrader gives 0 for any line on stderr, full marks for no result, a text or a negative number, and stops
the run for a number above the points. So: what was written to stderr becomes ordinary output, and a cell
whose last line did not give a number between 0 and its points gets an error output, which is 0 and is
reported as needing a look, never full marks.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.utils import is_grade, is_solution

__all__ = ["GRADER_FAILED", "NO_RESULT", "VERDICT", "has_verdict", "problem", "score", "settle", "verdict"]

VERDICT = "application/vnd.custom-autograd.verdict+json"  # grade() displays Box B's JSON under this type
NO_RESULT = "NoResult"
GRADER_FAILED = "the grader itself failed"
TOLERANCE = 1e-6
PACKAGE = Path(__file__).resolve().parents[1]


def settle(cell: NotebookNode) -> None:
    """Make a test cell's outputs say what they mean, in place. Other cells are left alone."""
    if cell.cell_type != "code" or not is_grade(cell) or is_solution(cell):
        return
    for out in cell.outputs:
        if out.output_type == "stream" and out.name == "stderr":
            out.name = "stdout"
    reason = _our_failure(cell) or _what_is_wrong(cell)
    if reason:
        text = f"the hidden test gave no usable result: {reason}"
        cell.outputs = [out for out in cell.outputs if out.output_type != "execute_result"]
        cell.outputs.append(new_output("error", ename=NO_RESULT, evalue=text, traceback=[f"{NO_RESULT}: {text}"]))


def _our_failure(cell: NotebookNode) -> str | None:
    """Says so when the grader broke, not the student's code: an error in our files that no cell's code lies
    below."""
    for error in _errors(cell):
        frames = [line for line in map(_plain, error.traceback) if line.startswith(("File ", "Cell In"))]
        ours = [place for place, line in enumerate(frames) if str(PACKAGE) in line]
        below = frames[ours[-1] + 1 :] if ours else []
        imported = error.ename in ("ImportError", "ModuleNotFoundError") and len(frames) == 1
        if imported or (ours and not any(line.startswith("Cell In") for line in below)):
            return f"{GRADER_FAILED} ({error.ename}: {error.evalue})"
    return None


def _plain(text: str) -> str:
    """Without terminal colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def _what_is_wrong(cell: NotebookNode) -> str | None:
    """Why the cell has no score although no error was shown; None when it has one or an error says why
    not."""
    if _errors(cell):
        return None
    found, points = score(cell), float(cell.metadata.nbgrader.get("points", 0))
    if found is None:
        return "its last line gave no number"
    if not (math.isfinite(found) and 0 <= found <= points):
        return f"{found:g} is not between 0 and {points:g}"
    records = [out for out in cell.outputs if VERDICT in out.get("data", {})]
    if len(records) > 1:
        return f"{len(records)} verdicts were recorded where one was expected"
    told = verdict(cell)
    if told is not None and not _equal(told.get("points"), found):
        return f"the recorded verdict says {told.get('points')} points, the last line {found:g}"
    return None


def _equal(one: Any, other: float) -> bool:
    return isinstance(one, int | float) and math.isclose(one, other, abs_tol=TOLERANCE)


def score(cell: NotebookNode) -> float | None:
    """The number the cell's last line gave."""
    for out in cell.get("outputs", ()):
        if out.output_type == "execute_result":
            try:
                return float("".join(out.data.get("text/plain", "")))
            except ValueError:
                return None
    return None


def verdict(cell: NotebookNode) -> dict[str, Any] | None:
    """The verdict recorded in the cell's outputs: Box B's JSON."""
    for out in cell.get("outputs", ()):
        found = out.get("data", {}).get(VERDICT)
        if isinstance(found, str):
            try:
                found = json.loads(found)
            except ValueError:
                continue
        if isinstance(found, dict):
            return dict(found)
    return None


def has_verdict(cell: NotebookNode) -> bool:
    """Whether a test cell got as far as a score."""
    return score(cell) is not None


def problem(cell: NotebookNode) -> tuple[str, str] | None:
    """The error that kept a test cell from a score, as (name, text)."""
    errors = _errors(cell)
    # The last one names the cause: after a time limit the interrupt's own KeyboardInterrupt comes first.
    return (errors[-1].ename, errors[-1].evalue) if errors else None


def _errors(cell: NotebookNode) -> list[NotebookNode]:
    return [out for out in cell.get("outputs", ()) if out.output_type == "error"]
