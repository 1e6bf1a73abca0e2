"""A lesson of three real exercises, and what a fault is: one line of the tables fault_files, fault_cells, fault_code.

A submission is plain JSON here, as it lies in the file: what nbformat would refuse or mend can be handed in too.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from grader.classroom.outcome import Status

__all__ = [
    "LESSON",
    "OUT_OF",
    "POINTS",
    "Fault",
    "Make",
    "Sheet",
    "answer",
    "answers",
    "code_cell",
    "extra",
    "hand_in",
    "lesson",
    "named",
    "place_of",
    "solved",
]

Sheet = dict[str, Any]  # a notebook as JSON
Make = Callable[[Path, Sheet], object]  # writes a submission into its folder, made from a sheet with right answers

LESSON = "01_faults"
POINTS = {"vjp_square": 2.0, "cube": 4.0, "exp": 3.0}
OUT_OF = sum(POINTS.values())
SYMBOLS = {"vjp_square": "vjp_square", "cube": "Cube", "exp": "Exp"}

STUBS = {
    "vjp_square": "def vjp_square(g, x):\n    ### BEGIN SOLUTION\n    return 2 * x * g\n    ### END SOLUTION",
    "cube": """\
class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x**3
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output
        ### END SOLUTION""",
}
STUBS["exp"] = STUBS["cube"].replace("Cube", "Exp").replace("x**3", "torch.exp(x)").replace("3 * x**2", "torch.exp(x)")


@dataclass(frozen=True)
class Fault:
    """A submission with something wrong, by a student of the same name, and what a run must make of it.

    points  what must stand in the gradebook, None: nothing
    says    words that the reason, the notes or the problem of an exercise must hold
    row     the kind seen in the wild that it stands for, see SEEN in test_faults.py; "" for our own
    """

    id: str
    make: Make
    points: float | None = OUT_OF
    status: Status = Status.GRADED
    says: str = ""
    row: str = ""


def solved(name: str) -> str:
    """The right answer of an exercise."""
    return "\n".join(line for line in STUBS[name].splitlines() if "###" not in line)


def lesson() -> NotebookNode:
    """The instructor's notebook."""
    imports = "import math\n\nimport torch\nfrom torch.autograd import Function\n\nfrom grader import check"
    cells = [new_markdown_cell("# Faults", id="top"), new_code_cell(imports, id="imports")]
    for name, points in POINTS.items():
        call = f'("{name}", {SYMBOLS[name]})'
        hidden = f"### BEGIN HIDDEN TESTS\nfrom grader.hidden import grade\ngrade{call}\n### END HIDDEN TESTS"
        cells += [
            new_markdown_cell(f"## {name}", id=f"about-{name}"),
            _graded(STUBS[name], name, solution=True),
            _graded(f"check{call}\n{hidden}", f"test_{name}", points=points),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made: NotebookNode = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return made


def _graded(text: str, name: str, *, solution: bool = False, points: float | None = None) -> NotebookNode:
    about: Sheet = {"grade_id": name, "grade": points is not None, "locked": points is not None}
    about |= {"schema_version": 3, "solution": solution}
    if points is not None:
        about["points"] = points
    made: NotebookNode = new_code_cell(text, id=name, metadata={"nbgrader": about})
    return made


# ---- making a submission ---------------------------------------------------------------------------------------------


def hand_in(place: Path, sheet: Sheet, name: str = f"{LESSON}.ipynb") -> Path:
    """Write the sheet into the submission's folder."""
    file = place / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(sheet), encoding="utf-8")
    return file


def place_of(sheet: Sheet, name: str) -> int:
    """Where the cell with this grade_id stands."""
    return next(i for i, cell in enumerate(sheet["cells"]) if cell["id"] == name)


def named(sheet: Sheet, name: str) -> Sheet:
    """The cell with this grade_id."""
    cell: Sheet = sheet["cells"][place_of(sheet, name)]
    return cell


def code_cell(source: str, name: str = "mine") -> Sheet:
    return {"cell_type": "code", "id": name, "metadata": {}, "source": source, "outputs": [], "execution_count": None}


def answers(**sources: str) -> Make:
    """Other answers, by exercise."""

    def make(place: Path, sheet: Sheet) -> None:
        for name, source in sources.items():
            named(sheet, name)["source"] = source
        hand_in(place, sheet)

    return make


def answer(front: str = "", forward: str = "", backward: str = "", after: str = "") -> Make:
    """The right answer of `cube` with a line more: in front, in forward, in backward, or below."""
    lines = solved("cube").splitlines()
    lines[3:3] = [" " * 8 + forward] * bool(forward)
    lines.insert(len(lines) - 1, " " * 8 + (backward or "pass"))
    return answers(cube="\n".join([*front.splitlines(), *lines, *after.splitlines()]))


def extra(source: str, *, behind: str = "test_vjp_square", **sources: str) -> Make:
    """A cell of the student's own, behind the first test unless said otherwise."""

    def make(place: Path, sheet: Sheet) -> None:
        for name, text in sources.items():
            named(sheet, name)["source"] = text
        sheet["cells"].insert(place_of(sheet, behind) + 1, code_cell(source))
        hand_in(place, copy.deepcopy(sheet))

    return make
