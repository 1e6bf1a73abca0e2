"""Rules about exercises: each solution cell with its test cell, and both as the exercise declares them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.lessons.regions import stubbed
from grader.lessons.rules.rule import Context, Faults, Rule
from grader.lessons.source import Cell, Lesson, parse_code

__all__ = ["RULES", "fixed_test_cell"]


def fixed_test_cell(exercise_id: str, symbol: str) -> str:
    """The one form of a test cell: the visible check, and the hidden grade as its last expression."""
    return "\n".join(
        [
            f'check("{exercise_id}", {symbol})',
            "### BEGIN HIDDEN TESTS",
            "from grader.hidden import grade",
            f'grade("{exercise_id}", {symbol})',
            "### END HIDDEN TESTS",
        ]
    )


def paired(lesson: Lesson, context: Context) -> Faults:
    """A solution cell's next code cell is its test cell, `test_<id>`; no test cell stands alone."""
    code = [cell for cell in lesson.cells if cell.is_code]
    for cell, following in zip(code, [*code[1:], None], strict=True):
        if cell.is_solution and (following is None or following.grade_id != f"test_{cell.grade_id}"):
            yield (
                cell.line,
                f"solution cell '{cell.grade_id}' is not followed by its test cell: let the next code cell "
                f"have the grade_id 'test_{cell.grade_id}'",
            )
    for cell, before in zip(code, [None, *code[:-1]], strict=True):
        if cell.is_graded and not (
            before and before.is_solution and cell.grade_id == f"test_{before.grade_id}"
        ):
            yield (
                cell.line,
                f"test cell '{cell.grade_id}' does not follow the solution cell it tests: move it there",
            )


def fixed_form(lesson: Lesson, context: Context) -> Faults:
    """A test cell is exactly check, hidden import, hidden grade: the last expression is the score."""
    for _, cell in _pairs(lesson):
        exercise_id, symbol = cell.grade_id.removeprefix("test_"), _symbol_tested(cell, context)
        if cell.source == fixed_test_cell(exercise_id, symbol):
            continue
        what = "its form is not the fixed one"
        if not _ends_in_grade(cell.source):
            what = "its last expression is not `grade(...)`, and nbgrader takes anything else for full marks"
        form = "\n    ".join(fixed_test_cell(exercise_id, symbol).split("\n"))
        yield cell.line, f"test cell '{cell.grade_id}': {what}. Write exactly:\n    {form}"


def known_exercise(lesson: Lesson, context: Context) -> Faults:
    """Solution cells are exercises of this lesson, and every exercise of the lesson has its cell."""
    if context.exercises is None:
        return
    present = set()
    for cell in _solution_cells(lesson):
        present.add(cell.grade_id)
        exercise = context.exercises.get(cell.grade_id)
        if exercise is None:
            yield (
                cell.line,
                f"there is no exercise '{cell.grade_id}': declare it in grader/exercises/, or correct the "
                "grade_id (`grader exercises` lists them)",
            )
        elif exercise.lesson != lesson.name:
            yield (
                cell.line,
                f"exercise '{cell.grade_id}' is declared for lesson {exercise.lesson}: change one",
            )
    for exercise in context.exercises.values():
        if exercise.lesson == lesson.name and exercise.id not in present:
            yield 1, f"exercise '{exercise.id}' belongs to this lesson and has no solution cell: add one"


def points(lesson: Lesson, context: Context) -> Faults:
    """A test cell gives the points its exercise declares."""
    for solution, cell in _pairs(lesson):
        exercise = (context.exercises or {}).get(solution.grade_id)
        declared = cell.nbgrader.get("points")
        if exercise is not None and declared != exercise.points:
            yield (
                cell.line,
                f"test cell '{cell.grade_id}' has {declared} points, its exercise {exercise.points:g}: "
                "nbgrader crashes on a score above the cell's points. Make them equal",
            )


def symbol_defined(lesson: Lesson, context: Context) -> Faults:
    """The exercise's symbol is a class or function of its solution cell, in the student's version too."""
    for solution, cell in _pairs(lesson):
        symbol = _symbol_tested(cell, context)
        if symbol not in _definitions(solution.source):
            yield (
                solution.line,
                f"this cell does not define `{symbol}`, which its test cell grades: write the `class` or "
                "`def` line outside the solution regions",
            )


def _solution_cells(lesson: Lesson) -> Iterator[Cell]:
    return (cell for cell in lesson.cells if cell.is_code and cell.is_solution)


def _pairs(lesson: Lesson) -> Iterator[tuple[Cell, Cell]]:
    """Each solution cell with its test cell, wherever that stands."""
    tests = {cell.grade_id: cell for cell in lesson.cells if cell.is_graded}
    for cell in _solution_cells(lesson):
        if test := tests.get(f"test_{cell.grade_id}"):
            yield cell, test


def _symbol_tested(cell: Cell, context: Context) -> str:
    """The symbol the exercise declares; without a catalogue, the one the test cell passes to `check`."""
    exercise = (context.exercises or {}).get(cell.grade_id.removeprefix("test_"))
    if exercise is not None:
        return exercise.symbol
    match = re.search(r'^check\("\w+", (\w+)\)$', cell.source, flags=re.MULTILINE)
    return match[1] if match else "SYMBOL"


def _ends_in_grade(source: str) -> bool:
    try:
        body = parse_code(source).body
    except SyntaxError:
        return False
    last = body[-1] if body else None
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and isinstance(last.value.func, ast.Name)
        and last.value.func.id == "grade"
        and not source.rstrip().split("\n")[-1].rstrip().endswith(";")
    )


def _definitions(source: str) -> set[str]:
    try:
        body = parse_code(stubbed(source)).body
    except SyntaxError:
        return set()
    return {node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)}


RULES = (
    Rule("paired", paired),
    Rule("test-form", fixed_form),
    Rule("known-exercise", known_exercise),
    Rule("points", points),
    Rule("symbol-defined", symbol_defined),
)
