"""The matrix: every implementation of known verdict x every check. The test of the tests, for people to read."""

from __future__ import annotations

from grader.matrix.page import block, page, page_path, write_page
from grader.matrix.rows import Known, Row, all_exercises, implementations, judged, matrix
from grader.matrix.table import as_text

__all__ = [
    "Known",
    "Row",
    "all_exercises",
    "as_text",
    "block",
    "implementations",
    "judged",
    "matrix",
    "page",
    "page_path",
    "write_page",
]
