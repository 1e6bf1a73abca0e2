"""Rules about single cells and what nbgrader makes of them: syntax, regions, metadata."""

from __future__ import annotations

import ast
import re

from nbformat import NotebookNode
from nbgrader.nbgraderformat import MetadataValidator

from grader.lessons.regions import (
    DELIMITER_WORDS,
    HIDDEN,
    SOLUTION,
    find_regions,
    region_faults,
    stubbed,
)
from grader.lessons.rules.rule import Context, Faults, Rule
from grader.lessons.source import Cell, Lesson, parse_code

__all__ = ["RULES"]

_GRADE_ID = re.compile(r"\w{1,60}", flags=re.ASCII)


def syntax(lesson: Lesson, context: Context) -> Faults:
    """Every code cell parses, as it stands and as the student gets it."""
    for cell in lesson.cells:
        if not cell.is_code:
            continue
        try:
            parse_code(cell.source)
        except SyntaxError as error:
            yield cell.line_of((error.lineno or 1) - 1), f"syntax error: {error.msg}. Mend this line"
            continue
        try:
            parse_code(stubbed(cell.source))
        except SyntaxError as error:
            yield (
                cell.line,
                f"the student's version of this cell does not parse ({error.msg}): let each solution region "
                "cover whole statements inside one function body",
            )


def regions(lesson: Lesson, context: Context) -> Faults:
    """Every BEGIN has its END, in the same cell, and regions do not nest."""
    for cell in lesson.cells:
        for index, fault in region_faults(cell.source):
            yield cell.line_of(index), fault


def region_place(lesson: Lesson, context: Context) -> Faults:
    """Solutions stand in solution cells, hidden tests in test cells, both in code."""
    for cell in lesson.cells:
        for region in find_regions(cell.source):
            if region.kind == SOLUTION and not (cell.is_code and cell.is_solution):
                yield (
                    cell.line_of(region.begin),
                    "a solution outside a solution cell would stay in the student notebook or stop nbgrader: "
                    'give the cell nbgrader metadata with "solution": true',
                )
            if region.kind == HIDDEN and not (cell.is_code and cell.is_graded):
                yield (
                    cell.line_of(region.begin),
                    "hidden tests outside a test cell stop nbgrader: move them into the exercise's test cell",
                )


def delimiter_words(lesson: Lesson, context: Context) -> Faults:
    """nbgrader's delimiter words stand nowhere but on delimiter lines: it cuts wherever it sees them."""
    for cell in lesson.cells:
        edges = {line for region in find_regions(cell.source) for line in (region.begin, region.end)}
        broken = {index for index, _ in region_faults(cell.source)}
        for index, line in enumerate(cell.source.split("\n")):
            word = next((word for word in DELIMITER_WORDS if word in line), None)
            if word and index not in edges | broken:
                yield (
                    cell.line_of(index),
                    f"nbgrader takes '{word}' for a delimiter wherever it stands, in prose too: reword this "
                    f"line, or write exactly `### {word}` if it is one",
                )
            if "AUTOTEST" in line and cell.is_code:
                yield cell.line_of(index), "nbgrader replaces lines with AUTOTEST in them: reword this line"


def metadata(lesson: Lesson, context: Context) -> Faults:
    """The nbgrader metadata of every cell is valid, in nbgrader's own eyes."""
    validator = MetadataValidator()
    lines = lesson.text.split("\n")
    for cell in lesson.cells:
        if "nbgrader" in lines[cell.line - 1] and not cell.nbgrader:
            yield cell.line, "the nbgrader metadata of this cell is no JSON object. Compare another lesson"
        if cell.grade_id and not _GRADE_ID.fullmatch(cell.grade_id):
            yield (
                cell.line,
                f"grade_id '{cell.grade_id}' also names the notebook's cell: use at most 60 letters, digits "
                "and underscores",
            )
        node = NotebookNode(cell_type=cell.kind, source=cell.source, metadata=NotebookNode())
        if cell.nbgrader:
            node.metadata.nbgrader = NotebookNode(cell.nbgrader)
        try:
            validator.validate_cell(node)
        except Exception as error:  # its schema errors and jsonschema's share no base class
            reason = str(error).splitlines()[0]
            yield cell.line, f"nbgrader refuses this cell's metadata: {reason}. Compare another lesson"


def unique_ids(lesson: Lesson, context: Context) -> Faults:
    """No two cells share a grade_id."""
    first: dict[str, Cell] = {}
    for cell in lesson.cells:
        if cell.grade_id and cell.grade_id in first:
            yield (
                cell.line,
                f"grade_id '{cell.grade_id}' is taken by the cell in line {first[cell.grade_id].line}: "
                "nbgrader would drop one of the two. Give each cell its own",
            )
        first.setdefault(cell.grade_id, cell)


def answer_in_function(lesson: Lesson, context: Context) -> Faults:
    """A solution cell has a solution region, and each lies inside a function, so its symbol stays defined."""
    for cell in lesson.cells:
        if not cell.is_solution:
            continue
        found = [region for region in find_regions(cell.source) if region.kind == SOLUTION]
        if not found and not list(region_faults(cell.source)):
            yield (
                cell.line,
                "this solution cell has no solution region, so nbgrader replaces the whole cell: put "
                "`### BEGIN SOLUTION` and `### END SOLUTION` around the answer inside the function",
            )
        for region in found:
            if not _inside_function(cell.source, region.begin + 1):
                yield (
                    cell.line_of(region.begin),
                    "this solution lies outside any function: the stub would run as soon as the cell does. "
                    "Let the region cover the body of a function only",
                )


def locked_tests(lesson: Lesson, context: Context) -> Faults:
    """Graded cells are locked code cells, neither task nor answer cells; other cells are not locked."""
    for cell in lesson.cells:
        if cell.nbgrader.get("task"):
            yield cell.line, "a task cell waits for a grade by hand for ever: use a solution and a test cell"
        elif cell.is_graded and (cell.is_solution or not cell.is_code):
            yield cell.line, "this cell is graded by hand: use a solution cell and a test cell after it"
        elif cell.is_graded and not cell.nbgrader.get("locked"):
            yield (
                cell.line,
                "an unlocked test cell can be edited by a student, and nbgrader keeps the edit: "
                'write "locked": true in its metadata',
            )
        elif cell.is_solution and cell.nbgrader.get("locked"):
            yield cell.line, 'a locked solution cell cannot be answered: write "locked": false'


def _inside_function(source: str, line: int) -> bool:
    try:
        tree = parse_code(source)
    except SyntaxError:
        return True  # the rule about syntax says what is wrong
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(
        node.lineno < line <= (node.end_lineno or node.lineno) + 1 and _indent(source, line) > node.col_offset
        for node in ast.walk(tree)
        if isinstance(node, functions)
    )


def _indent(source: str, line: int) -> int:
    text = source.split("\n")[line - 1]
    return len(text) - len(text.lstrip())


RULES = (
    Rule("syntax", syntax, build=True),
    Rule("regions", regions, build=True),
    Rule("region-place", region_place, build=True),
    Rule("delimiter-words", delimiter_words, build=True),
    Rule("metadata", metadata, build=True),
    Rule("unique-ids", unique_ids, build=True),
    Rule("answer-in-function", answer_in_function),
    Rule("locked-tests", locked_tests),
)
