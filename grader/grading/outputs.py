"""The outputs of a graded notebook's cells, as Jupyter stores them: how a score and a verdict are read from them.

A test cell ends in a number between 0 and its points, or in an error output, which is 0; `shown` makes it so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.report import Report

__all__ = [
    "DIED",
    "GRADER_FAILED",
    "MIME",
    "NOT_RUN",
    "NO_RESULT",
    "STOPPED",
    "displayed",
    "problem",
    "score",
    "verdict",
]

Output = Mapping[str, Any]

MIME = "application/vnd.custom-autograd.verdict+json"
"""Under this a test cell's outputs hold the record of a verdict."""

NO_RESULT = "NoResult"
NOT_RUN = "NotRun"
STOPPED = "TimeLimit"
DIED = "ProcessEnded"
GRADER_FAILED = "the grader itself failed"


def displayed(report: Report) -> dict[str, Any]:
    """What a test cell displays of a report, by MIME type: Box B's JSON, and under "where" what a picture is drawn from
    (`Where.to_dict()`), where there is one."""
    where = {} if report.where is None else {"where": report.where.to_dict()}
    return {MIME: {**report.to_dict(), **where}, "text/plain": f"verdict on {report.exercise}"}


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
    """The verdict recorded in a test cell's outputs, as `displayed` made it."""
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
