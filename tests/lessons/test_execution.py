"""Every lesson in a fresh kernel: solutions score full marks, the untouched student notebook scores nothing.

Scores are read as nbgrader reads them (`determine_grade`), and the traps in that reading are asserted on
besides: a stream on stderr, a missing result, a result that is no number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbgrader.utils import determine_grade

from grader.lessons import build_release, read_lesson

_COURSE = Path(__file__).parents[2]
_SOURCES = sorted(path for path in (_COURSE / "solutions").glob("*.py") if not path.stem.startswith("_"))
_SECONDS_PER_CELL = 120

each_lesson = pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.stem)


def run_all_cells(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """Run every cell in a fresh kernel that works in `folder`; errors stay in the outputs."""
    places = [str(_COURSE), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "MPLBACKEND": "agg"}
    environment.pop("GRADER_CLASS_SECRET", None)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=_SECONDS_PER_CELL,
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    executed: NotebookNode = client.execute(env=environment)
    return executed


def untouched_with_hidden_tests(source: Path) -> NotebookNode:
    """The student notebook as released, its test cells put back to the instructor's, as nbgrader does."""
    instructor = {cell.id: cell for cell in read_lesson(source).cells}
    notebook = build_release(source)
    for cell in notebook.cells:
        if is_graded(cell):
            cell.source = instructor[cell.id].source
    return notebook


def is_graded(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def graded(notebook: NotebookNode) -> Iterator[NotebookNode]:
    return (cell for cell in notebook.cells if is_graded(cell))


def errors(notebook: NotebookNode) -> list[tuple[str, str, str]]:
    """(cell id, name, message) of every error."""
    return [
        (cell.id, output.ename, output.evalue)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "error"
    ]


def on_stderr(notebook: NotebookNode) -> list[tuple[str, str]]:
    """(cell id, text) of everything written to stderr."""
    return [
        (cell.id, output.text)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr"
    ]


def results(cell: NotebookNode) -> list[str]:
    """The cell's results as text: the last is what nbgrader takes for the score."""
    return [output.data["text/plain"] for output in cell.outputs if output.output_type == "execute_result"]


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_lesson
def test_solutions_score_full_marks(source: Path, tmp_path: Path) -> None:
    notebook = run_all_cells(read_lesson(source), tmp_path)
    assert errors(notebook) == []
    assert on_stderr(notebook) == []
    points = {cell.id: float(cell.metadata.nbgrader.points) for cell in graded(notebook)}
    assert {cell.id: [float(text) for text in results(cell)] for cell in graded(notebook)} == {
        cell_id: [value] for cell_id, value in points.items()
    }
    assert {cell.id: determine_grade(cell)[0] for cell in graded(notebook)} == points


@pytest.mark.slow
@pytest.mark.timeout(900)
@each_lesson
def test_untouched_notebook_scores_nothing(source: Path, tmp_path: Path) -> None:
    notebook = run_all_cells(untouched_with_hidden_tests(source), tmp_path)
    assert {name for _, name, _ in errors(notebook)} <= {"NotImplementedError"}, errors(notebook)
    assert on_stderr(notebook) == []
    assert {cell.id: [float(text) for text in results(cell)] for cell in graded(notebook)} == {
        cell.id: [0.0] for cell in graded(notebook)
    }
    assert {determine_grade(cell)[0] for cell in graded(notebook)} <= {0.0}


def test_the_readings_above_see_faults(tmp_path: Path) -> None:
    # else the lessons could not fail: one cell of each kind of fault, and one that is right
    sources = {
        "right": "2.0",
        "loud": "import sys\nprint('warning', file=sys.stderr)\n2.0",
        "raising": "raise NotImplementedError",
        "silent": "x = 2.0",
    }
    meta = {"grade": True, "locked": True, "points": 2, "schema_version": 3, "solution": False}
    cells = [
        nbformat.v4.new_code_cell(
            source, id=cell_id, metadata=nbformat.from_dict({"nbgrader": {**meta, "grade_id": cell_id}})
        )
        for cell_id, source in sources.items()
    ]
    notebook = run_all_cells(nbformat.v4.new_notebook(cells=cells), tmp_path)
    assert errors(notebook) == [("raising", "NotImplementedError", "")]
    assert on_stderr(notebook) == [("loud", "warning\n")]
    assert {cell.id: results(cell) for cell in graded(notebook)} == {
        "right": ["2.0"],
        "loud": ["2.0"],
        "raising": [],
        "silent": [],
    }
