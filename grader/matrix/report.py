"""What `grader matrix` prints and writes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from grader import signatures
from grader.corpus import find
from grader.errors import GraderError
from grader.exercises import catalogue
from grader.matrix.page import write_page
from grader.matrix.rows import Row, all_exercises, matrix
from grader.matrix.table import as_text

__all__ = ["report_matrix"]


def report_matrix(wanted: Sequence[str], *, as_json: bool, write: bool) -> tuple[str, bool]:
    """The text to print, and whether every verdict is as it should be. `write` renews docs/matrix.md
    and the signatures."""
    if write and wanted:
        raise GraderError("--write renews what is kept of all exercises. Leave out the exercise, or --write.")
    if write:  # the diagnosis goes by them
        signatures.write(catalogue().values())
    rows = matrix([find(id) for id in wanted] or all_exercises().values())
    good = all(row.as_it_should for row in rows)
    if write:
        return f"wrote {write_page(rows)}", good
    return (_json(rows) if as_json else as_text(rows)), good


def _json(rows: list[Row]) -> str:
    return json.dumps([row.to_dict() for row in rows], indent=2)
