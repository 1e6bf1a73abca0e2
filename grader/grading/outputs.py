"""The outputs of a graded notebook's cells, as Jupyter stores them: how they are made, and how a score is read again.

nbgrader gives 0 for any line on stderr, full marks for no result, a text or a negative number, and stops the run for a
number above the points. So outputs are made here, by the trusted process, from what was found: a test cell ends in a
number between 0 and its points, or in an error output, which is 0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from grader.grading.session import LATE, Cell, Tested
from grader.hidden import MIME
from grader.subject import ENDLESS, GONE, Failure

__all__ = [
    "DIED",
    "GRADER_FAILED",
    "NOT_RUN",
    "NO_RESULT",
    "STOPPED",
    "of_cell",
    "of_test",
    "problem",
    "score",
    "verdict",
]

Output = Mapping[str, Any]

NO_RESULT = "NoResult"
NOT_RUN = "NotRun"
STOPPED = "TimeLimit"
DIED = "ProcessEnded"
GRADER_FAILED = "the grader itself failed"
_NAMES = {ENDLESS: STOPPED, GONE: DIED, LATE: NOT_RUN}


# ---- made ------------------------------------------------------------------------------------------------------------


def of_cell(cell: Cell, most: int) -> list[dict[str, Any]]:
    """What a cell of the submission showed, up to `most` characters, and how it failed if it did."""
    outputs = _stream(cell.output, most)
    if cell.failure is not None:
        outputs.append(_failure(cell.failure, left_out=cell.left_out))
    return outputs


def of_test(tested: Tested, points: float, most: int) -> list[dict[str, Any]]:
    """What a test cell printed, its verdicts, and a score that cannot be misread.

    points: the most that the cell can give. most: characters that it may show.
    """
    outputs = _stream(tested.output, most)
    outputs += [_shown(data) for data in tested.shown]
    outputs += [_shown({MIME: r.to_dict(), "text/plain": f"verdict on {r.exercise}"}) for r in tested.reports]
    if tested.broken:
        outputs.append(_no_result(f"{GRADER_FAILED} ({tested.error})"))
    elif tested.error:
        name, _, text = tested.error.partition(": ")
        outputs.append(_error(_NAMES.get(name, name), text))
    else:
        wrong = _what_is_wrong(tested, points)
        outputs.append(_no_result(wrong) if wrong else _result(tested.points or 0.0))
    return outputs


def _what_is_wrong(tested: Tested, points: float) -> str:
    """Why what a test cell came to is no score, or ""."""
    found = tested.points
    if found is None:
        return "its last line gave no number"
    if not (math.isfinite(found) and 0 <= found <= points):
        return f"{found:g} is not between 0 and {points:g}"
    return ""


def _stream(text: str, most: int) -> list[dict[str, Any]]:
    if len(text) > most:
        text = text[:most] + "\n[more output was dropped]\n"
    return [{"output_type": "stream", "name": "stdout", "text": text}] if text else []


def _shown(data: Mapping[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": dict(data), "metadata": {}}


def _result(points: float) -> dict[str, Any]:
    return {"output_type": "execute_result", "data": {"text/plain": repr(points)}, "metadata": {}, "execution_count": 1}


def _error(name: str, text: str, *lines: str) -> dict[str, Any]:
    trace = [*lines, f"{name}: {text}"]
    return {"output_type": "error", "ename": name, "evalue": text, "traceback": trace}


def _no_result(reason: str) -> dict[str, Any]:
    return _error(NO_RESULT, f"the hidden test gave no usable result: {reason}")


def _failure(failed: Failure, *, left_out: bool) -> dict[str, Any]:
    text = f"{failed.message}. The other cells were run without it." if left_out else failed.message
    return _error(_NAMES.get(failed.type, failed.type), text, *filter(None, [failed.line]))


# ---- read ------------------------------------------------------------------------------------------------------------


def score(outputs: Iterable[Output]) -> float | None:
    """The number a test cell ended in; None without one."""
    for out in outputs:
        if out["output_type"] == "execute_result":
            try:
                return float("".join(out["data"].get("text/plain", "")))
            except ValueError:
                return None
    return None


def verdict(outputs: Iterable[Output]) -> dict[str, Any] | None:
    """The verdict recorded in a test cell's outputs: Box B's JSON."""
    for out in outputs:
        found = out.get("data", {}).get(MIME)
        if isinstance(found, str):
            try:
                found = json.loads(found)
            except ValueError:
                continue
        if isinstance(found, dict):
            return dict(found)
    return None


def problem(outputs: Iterable[Output]) -> tuple[str, str] | None:
    """The error that ended a cell, as (name, text)."""
    errors = [out for out in outputs if out["output_type"] == "error"]
    return (errors[-1]["ename"], errors[-1]["evalue"]) if errors else None
