"""What the cells of a submission showed, as outputs that Jupyter stores.

nbgrader gives 0 for any line on stderr, full marks for no result, a text or a negative number, and stops the run for a
number above the points. So outputs are made here, by the trusted process, from what was found: a test cell ends in a
number between 0 and its points, or in an error output, which is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from grader.grading.outputs import DIED, GRADER_FAILED, NO_RESULT, NOT_RUN, STOPPED, displayed
from grader.grading.session import LATE, Cell, Tested
from grader.subject import ENDLESS, GONE, Failure

__all__ = ["of_cell", "of_test"]

_NAMES = {ENDLESS: STOPPED, GONE: DIED, LATE: NOT_RUN}


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
    outputs += [_shown(displayed(report)) for report in tested.reports]
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
