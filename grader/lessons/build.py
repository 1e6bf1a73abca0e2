"""From a lesson source to its notebooks: the instructor's, with solutions, and the student's, without.

The student's is made by nbgrader's own preprocessors, in the order of `nbgrader generate_assignment` and
without the two that need a kernel or a database, so the bytes are the ones nbgrader would release.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    LockCells,
)

from grader.errors import GraderError
from grader.lessons.regions import STUB
from grader.lessons.rules import build_problems
from grader.lessons.source import Cell, Lesson, parse_lesson

__all__ = ["NBGRADER_STUBS", "build_release", "instructor_notebook", "notebook_text", "read_lesson"]

NBGRADER_STUBS: Mapping[str, str] = {"python": STUB}
"""`c.ClearSolutions.code_stub` of a class folder: with it, nbgrader's own release is the same as ours."""

_KERNEL = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def read_lesson(path: Path | str) -> NotebookNode:
    """The instructor's notebook of a lesson source: all cells, solutions and hidden tests, no outputs.

    The same source gives the same notebook, cell ids included. Raises GraderError, with file and line for
    each fault, for a source that cannot be built.
    """
    lesson = parse_lesson(Path(path))
    faults = [str(problem) for problem in build_problems(lesson)]
    if faults:
        raise GraderError("\n".join(["this lesson source cannot be built:", *faults]))
    return _notebook(lesson)


def instructor_notebook(path: Path | str) -> NotebookNode:
    """The same as a class folder holds it, `source/<lesson>/<lesson>.ipynb`: accepted by nbgrader."""
    notebook = read_lesson(path)
    CheckCellMetadata().preprocess(notebook, {})
    return notebook


def build_release(path: Path | str) -> NotebookNode:
    """The student's notebook: stubs for solutions, no hidden tests, no outputs, test cells locked.

    Raises GraderError for a source that cannot be built, as `read_lesson` does.
    """
    notebook = instructor_notebook(path)
    resources: dict[str, object] = {}
    for step in (
        LockCells(),
        ClearSolutions(code_stub=dict(NBGRADER_STUBS)),
        ClearOutput(),
        CheckCellMetadata(),
        ComputeChecksums(),
        ClearHiddenTests(),
        ClearMarkScheme(),
        ComputeChecksums(),  # again: the locked test cells have changed since
        CheckCellMetadata(),
    ):
        notebook, resources = step.preprocess(notebook, resources)
    return notebook


def notebook_text(notebook: NotebookNode) -> str:
    """The notebook as the text of an .ipynb file, as nbgrader writes it, with a last newline."""
    text = str(nbformat.writes(notebook))
    return text if text.endswith("\n") else text + "\n"


def _notebook(lesson: Lesson) -> NotebookNode:
    metadata = {"course": deepcopy(dict(lesson.course)), **deepcopy(_KERNEL)}
    ids = _cell_ids(lesson.cells)
    nodes = [_node(cell, cell_id) for cell, cell_id in zip(lesson.cells, ids, strict=True)]
    notebook: NotebookNode = nbformat.v4.new_notebook(metadata=nbformat.from_dict(metadata), cells=nodes)
    return notebook


def _node(cell: Cell, cell_id: str) -> NotebookNode:
    metadata: dict[str, object] = {}
    if cell.nbgrader:
        metadata["nbgrader"] = dict(cell.nbgrader)
    if cell.tags:
        metadata["tags"] = list(cell.tags)
    make = getattr(nbformat.v4, f"new_{cell.kind}_cell")
    node: NotebookNode = make(source=cell.source, id=cell_id, metadata=nbformat.from_dict(metadata))
    return node


def _cell_ids(cells: tuple[Cell, ...]) -> list[str]:
    """An id for each cell: its grade_id, else the last grade_id before it and a count.

    So a cell added to a lesson changes the ids up to the next exercise only, and diffs stay short.
    """
    ids, anchor, count = [], "top", 0
    for cell in cells:
        if cell.grade_id:
            anchor, count = cell.grade_id, 0
            ids.append(anchor)
        else:
            count += 1
            ids.append(f"{anchor}-{count}")
    return ids
