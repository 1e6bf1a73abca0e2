"""What happens to notebooks between a student's screen and the instructor's folder. Each writes the damaged
file."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from grader.classroom.master import grade_id, is_test

__all__ = [
    "copied_answer",
    "copied_test",
    "crash",
    "cut_off",
    "deleted_test",
    "emptied",
    "endless_loop",
    "lost_metadata",
    "none",
    "prints_a_lot",
    "renamed",
    "sys_exit",
    "turned_to_markdown",
    "waits_for_input",
    "warns",
]


def none(notebook: NotebookNode, file: Path) -> None:
    """Handed in as saved."""
    file.write_text(nbformat.writes(notebook) + "\n", encoding="utf-8")


def renamed(name: str) -> Callable[[NotebookNode, Path], None]:
    """Downloaded a second time, or named by hand; `{lesson}` stands for the right name."""

    def hand_in(notebook: NotebookNode, file: Path) -> None:
        none(notebook, file.with_stem(name.format(lesson=file.stem)))

    return hand_in


def copied_test(notebook: NotebookNode, file: Path) -> None:
    """The first test cell was copied to try something, then left in at the end."""
    notebook.cells.append(_copy(_tests(notebook)[0]))
    none(notebook, file)


def copied_answer(notebook: NotebookNode, file: Path) -> None:
    """The first answer was tried in a copy above the real one."""
    place = notebook.cells.index(_answers(notebook)[0])
    notebook.cells.insert(place, _copy(notebook.cells[place]))
    none(notebook, file)


def deleted_test(notebook: NotebookNode, file: Path) -> None:
    """The first test cell was deleted."""
    notebook.cells.remove(_tests(notebook)[0])
    none(notebook, file)


def lost_metadata(notebook: NotebookNode, file: Path) -> None:
    """All cells lost their metadata on the way through another program."""
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
    none(notebook, file)


def turned_to_markdown(notebook: NotebookNode, file: Path) -> None:
    """The last answer was turned into a text cell by a slip of the keyboard."""
    cell = _answers(notebook)[-1]
    cell.cell_type = "markdown"
    for key in ("outputs", "execution_count"):
        cell.pop(key, None)
    none(notebook, file)


def crash(notebook: NotebookNode, file: Path) -> None:
    """The second answer ends the whole Python process."""
    _answers(notebook)[1].source += "\n\nimport os\nos._exit(1)"
    none(notebook, file)


def endless_loop(notebook: NotebookNode, file: Path) -> None:
    """The second answer never ends."""
    _answers(notebook)[1].source = "step = 0\nwhile step < 10:\n    pass  # step += 1 was forgotten"
    none(notebook, file)


def sys_exit(notebook: NotebookNode, file: Path) -> None:
    """A cell in between calls sys.exit()."""
    _after_first_test(notebook, "import sys\nsys.exit()")
    none(notebook, file)


def waits_for_input(notebook: NotebookNode, file: Path) -> None:
    """A cell in between asks for input."""
    _after_first_test(notebook, 'size = int(input("how many elements? "))')
    none(notebook, file)


def prints_a_lot(notebook: NotebookNode, file: Path) -> None:
    """A cell in between prints some megabytes."""
    _after_first_test(notebook, "for step in range(40_000):\n    print(step, '-' * 80)")
    none(notebook, file)


def warns(notebook: NotebookNode, file: Path) -> None:
    """From here on everything warns on stderr, the tests included."""
    text = (
        "import sys, warnings\n\n"
        "warnings.simplefilter('always')\n"
        "get_ipython().events.register('pre_run_cell', lambda info: print('deprecated!', file=sys.stderr))"
    )
    _after_first_test(notebook, text)
    none(notebook, file)


def cut_off(notebook: NotebookNode, file: Path) -> None:
    """The upload stopped half-way."""
    text = nbformat.writes(notebook)
    file.write_text(text[: len(text) // 2], encoding="utf-8")


def emptied(notebook: NotebookNode, file: Path) -> None:
    """The disk was full when the notebook was saved."""
    file.write_text("", encoding="utf-8")


def _copy(cell: NotebookNode) -> NotebookNode:
    """As JupyterLab copies: with the nbgrader data, under a new cell id."""
    copied = copy.deepcopy(cell)
    copied.id = f"{cell.id}-copy"
    return copied


def _answers(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if grade_id(cell) and cell.metadata.nbgrader.get("solution")]


def _tests(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if grade_id(cell) and is_test(cell)]


def _after_first_test(notebook: NotebookNode, source: str) -> None:
    place = notebook.cells.index(_tests(notebook)[0])
    notebook.cells.insert(place + 1, new_code_cell(source, id="tried-out"))
