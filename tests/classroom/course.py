"""A tiny course to test the class pipeline with: plain functions, no torch, so that grading it is quick.

Its hidden tests do what `grade()` does: they display a verdict record and end in a number.
"""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

WARM_UP = {"double": ("double(x)", "2 * x", 2), "triple": ("triple(x)", "3 * x", 3)}
POWERS = {"square": ("square(x)", "x * x", 4)}

# One point for a right answer at 1, all of them for right answers at 1, 5 and -2.
HIDDEN = """\
print("testing {name}")
### BEGIN HIDDEN TESTS
def secret_points(f, right, most):
    if all(f(x) == right(x) for x in (1, 5, -2)):
        return float(most)
    return 1.0 if f(1) == right(1) else 0.0

points = secret_points({name}, lambda x: {right}, {points})
print("{name}:", points, "of", {points})
display({{"{mime}": {{
    "exercise": "{name}", "passed": points == {points}, "points": points, "out_of": {points},
    "findings": [{{"check": "values", "passed": points == {points}, "message": "compared at three points"}}],
    "diagnosis": [] if points == {points} else ["wrong_factor"],
}}}}, raw=True)
points
### END HIDDEN TESTS
"""
MIME = "application/vnd.custom-autograd.verdict+json"


def solution(name: str, signature: str, right: str) -> NotebookNode:
    body = f"    ### BEGIN SOLUTION\n    return {right}\n    ### END SOLUTION"
    text = f'def {signature}:\n    """{right}"""\n{body}'
    return _cell(text, name, solution=True)


def test_cell(name: str, right: str, points: int) -> NotebookNode:
    text = HIDDEN.format(name=name, right=right, points=points, mime=MIME).rstrip("\n")
    return _cell(text, f"test_{name}", points=points)


def _cell(text: str, name: str, *, solution: bool = False, points: int | None = None) -> NotebookNode:
    about: dict[str, Any] = {
        "grade": points is not None,
        "grade_id": name,
        "locked": points is not None,
        "schema_version": 3,
        "solution": solution,
    }
    if points is not None:
        about["points"] = points
    made: NotebookNode = new_code_cell(text, id=name, metadata={"nbgrader": about})
    return made


def lesson(title: str, exercises: dict[str, tuple[str, str, int]]) -> NotebookNode:
    cells = [new_markdown_cell(f"# {title}", id="top"), new_code_cell("import math", id="imports")]
    for name, (signature, right, points) in exercises.items():
        cells += [
            new_markdown_cell(f"## {name}", id=f"about-{name}"),
            solution(name, signature, right),
            test_cell(name, right, points),
        ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    made: NotebookNode = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return made


def lessons() -> dict[str, NotebookNode]:
    """The instructor's notebooks: 00_warm_up (double 2, triple 3) and 01_powers (square 4)."""
    return {"00_warm_up": lesson("Warm up", WARM_UP), "01_powers": lesson("Powers", POWERS)}
