"""Rules about a lesson's code cells as a reader meets them: short, plain Python, no network."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from grader.lessons.rules.rule import Context, Faults, Rule
from grader.lessons.source import Cell, Lesson, parse_code

__all__ = ["RULES"]

_MOST_LINES = 40
_MOST_IMPORTS = 8
_NETWORK = frozenset(
    ("aiohttp", "datasets", "ftplib", "gdown", "http", "httpx", "huggingface_hub", "kagglehub", "requests")
    + ("smtplib", "socket", "torchvision", "urllib", "urllib3", "websocket", "websockets", "wget")
)


def cell_length(lesson: Lesson, context: Context) -> Faults:
    """A code cell has at most 40 lines."""
    for cell in _code(lesson):
        length = len(cell.source.split("\n"))
        if length > _MOST_LINES:
            yield (
                cell.line,
                f"this cell has {length} lines, more than {_MOST_LINES}: split it, one idea a cell, or move "
                "what is not the lesson's subject into the package",
            )


def import_wall(lesson: Lesson, context: Context) -> Faults:
    """A cell has at most 8 import lines."""
    for cell in _code(lesson):
        count = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in _nodes(cell))
        if count > _MOST_IMPORTS:
            yield cell.line, f"{count} imports in one cell are a wall: import each where it is first used"


def magics(lesson: Lesson, context: Context) -> Faults:
    """No IPython magics and no shell commands: a cell is plain Python."""
    for cell in _code(lesson):
        for index, line in enumerate(cell.source.split("\n")):
            if re.match(r"\s*(%%?[A-Za-z]|!)", line):
                yield (
                    cell.line_of(index),
                    f"`{line.strip()[:40]}` is no Python: the grader and every other tool that reads the "
                    "lesson would trip over it. Write plain Python",
                )


def network(lesson: Lesson, context: Context) -> Faults:
    """No code reaches for the network: the course runs on a train."""
    for cell in _code(lesson):
        for node in _nodes(cell):
            for name in _reaches(node):
                yield (
                    cell.line_of(getattr(node, "lineno", 1) - 1),
                    (f"`{name}` needs a network: ship the data with the course or make it in the cell"),
                )


def _reaches(node: ast.AST) -> Iterator[str]:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module:
        modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        modules = [f"{node.value.id}.{node.attr}"] if node.value.id == "torch" else []
    for module in modules:
        if module.split(".")[0] in _NETWORK or module == "torch.hub":
            yield module
            return


def _code(lesson: Lesson) -> Iterator[Cell]:
    return (cell for cell in lesson.cells if cell.is_code)


def _nodes(cell: Cell) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(parse_code(cell.source))
    except SyntaxError:
        return  # the rule about syntax says what is wrong


RULES = (
    Rule("cell-length", cell_length),
    Rule("import-wall", import_wall),
    Rule("magics", magics),
    Rule("network", network),
)
