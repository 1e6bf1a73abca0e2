"""Attacks through what is handed in: the notebook's cells and metadata, and the files beside it."""

from __future__ import annotations

import copy
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from grader.attacks.attack import LESSON, NEIGHBOUR, Attack, Edit, Field, beside
from grader.classroom.master import grade_id

__all__ = ["ATTACKS"]

TEST = "test_relu"
_FULL = """def grade(exercise, thing):
    return 4.0


def __getattr__(name):
    return lambda *a, **k: None
"""


def _test(notebook: NotebookNode) -> NotebookNode:
    found: NotebookNode = next(cell for cell in notebook.cells if grade_id(cell) == TEST)
    return found


def _edited_test(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    _test(notebook).source = "4.0"


def _unlocked_test(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    cell = _test(notebook)
    cell.source = "4.0"
    cell.metadata.nbgrader.update(locked=False, solution=True, grade=True, checksum="0" * 32)


def _twice(*, first: bool) -> Edit:
    def edit(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
        second = copy.deepcopy(_test(notebook))
        second.source, second.id = "4.0", "the-other-test"
        notebook.cells.insert(0 if first else len(notebook.cells), second)

    return edit


def _points(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    for cell in notebook.cells:
        if grade_id(cell).startswith("test_"):
            cell.metadata.nbgrader["points"] = 400


def _as_markdown(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    at = notebook.cells.index(_test(notebook))
    notebook.cells[at] = new_markdown_cell("4.0", metadata=_test(notebook).metadata)


def _deleted(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    notebook.cells.remove(_test(notebook))


def _own_cell(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    about = {**_test(notebook).metadata.nbgrader, "grade_id": "test_bonus", "points": 17}
    notebook.cells.append(new_code_cell("17.0", metadata={"nbgrader": about}))


def _stored(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    cell = _test(notebook)
    cell.outputs = [new_output("execute_result", data={"text/plain": "4.0"}, execution_count=1)]
    cell.metadata["trusted"] = True


def _skipped(notebook: NotebookNode, folder: Path, field: Field) -> None:
    _stored(notebook, folder, field)
    _test(notebook).metadata["tags"] = ["skip-execution", "raises-exception"]


def _all_skipped(notebook: NotebookNode, folder: Path, field: Field) -> None:
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.metadata["tags"] = ["skip-execution"]


def _other_kernel(notebook: NotebookNode, folder: Path, field: Field) -> None:
    notebook.metadata["kernelspec"] = {"name": "own", "display_name": "own", "language": "python"}
    spec = '{"argv": ["/bin/sh", "-c", "touch %s/kernel"], "display_name": "own", "language": "python"}'
    beside({"kernels/own/kernel.json": spec % field.loot, "kernel.json": spec % field.loot})(notebook, folder, field)


def _neighbours_file(_notebook: NotebookNode, folder: Path, field: Field) -> None:
    (folder / f"{LESSON}.ipynb").symlink_to(field.root / "submitted" / NEIGHBOUR / LESSON / f"{LESSON}.ipynb")


def _links(_notebook: NotebookNode, folder: Path, field: Field) -> None:
    (folder / "mine.txt").symlink_to(field.private)
    (folder / "source").symlink_to(field.root / "source")
    (folder / "secret.txt").symlink_to(field.root / ".grader" / "secret")


def _linked_folder(notebook: NotebookNode, folder: Path, field: Field) -> None:
    (folder / "data").symlink_to(field.root / "submitted" / NEIGHBOUR)


ATTACKS = (
    Attack("edited_test", "writes 4.0 into the test cell", edit=_edited_test),
    Attack("unlocked_test", "makes the test cell a solution cell that it may edit", edit=_unlocked_test),
    Attack("second_test_first", "puts a second cell with the test's grade_id at the top", edit=_twice(first=True)),
    Attack("second_test_last", "puts a second cell with the test's grade_id at the end", edit=_twice(first=False)),
    Attack("more_points", "raises the points in the notebook's metadata a hundredfold", edit=_points),
    Attack("test_as_text", "turns the test cell into a text cell", edit=_as_markdown),
    Attack("no_test", "deletes the test cell", edit=_deleted),
    Attack("own_test", "adds a graded cell of its own, worth 17 points", edit=_own_cell),
    Attack("stored_output", "stores an output of full marks in the notebook", edit=_stored),
    Attack("skip_execution", "tags the test cell so that the notebook client does not run it", edit=_skipped),
    Attack("skip_all", "tags every cell so that nothing is run", edit=_all_skipped),
    Attack("own_kernel", "names a kernel of its own and brings its kernel.json along", edit=_other_kernel),
    Attack(
        "fake_package",
        "puts a package named grader beside the notebook, which is imported first",
        edit=beside({"grader/__init__.py": _FULL, "grader/hidden.py": _FULL, "grader.py": _FULL}),
    ),
    Attack(
        "fake_library",
        "puts files named like libraries beside the notebook that change the grader when imported",
        edit=beside(
            dict.fromkeys(
                ("matplotlib.py", "sitecustomize.py", "usercustomize.py", "warnings.py"),
                "import sys\nimport grader.hidden\ngrader.hidden.grade = lambda *a: 4.0\n",
            )
        ),
    ),
    Attack(
        "startup_file",
        "brings settings for IPython and Jupyter along that run code at the start",
        edit=beside(
            dict.fromkeys(
                (
                    "ipython_config.py",
                    "jupyter_config.py",
                    "nbgrader_config.py",
                    ".ipython/profile_default/startup/0.py",
                ),
                "import grader.hidden\ngrader.hidden.grade = lambda *a: 4.0\n",
            )
        ),
    ),
    Attack("neighbours_file", "hands in a link to a neighbour's notebook", edit=_neighbours_file),
    Attack("links", "hands in links to files outside, to be copied to where feedback is read", edit=_links),
    Attack("linked_folder", "hands in a link to a neighbour's folder, to be written through", edit=_linked_folder),
)
