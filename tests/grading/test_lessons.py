"""The lessons themselves, cell by cell: the solutions get full marks in a process of their own, and no cell fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jupytext
import pytest

from grader.grading.session import Submission

LESSONS = sorted((Path(__file__).resolve().parents[2] / "solutions").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_solutions_get_full_marks(submission: Callable[..., Submission], path: Path) -> None:
    one = submission()
    for cell in jupytext.read(path).cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code" and about.get("points"):
            tested = one.test(cell.source)
            assert (tested.points, tested.error) == (about["points"], ""), about["grade_id"]
        elif cell.cell_type == "code":
            assert one.run(cell.source).failure is None, cell.source
