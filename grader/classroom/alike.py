"""When a cell is another one again: by its text, or by what it defines. Works on text that is no Python, too."""

from __future__ import annotations

import ast
import re
import warnings
from functools import lru_cache

from nbformat import NotebookNode

__all__ = ["defined", "index_of", "same"]


@lru_cache(maxsize=2048)  # the lesson's own cells are asked about with every submission
def defined(source: str) -> frozenset[str]:
    """Names of the classes and functions a cell defines at its top level, also when it does not parse."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python minds in a student's text is not for the instructor
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(re.findall(r"^(?:class|def)\s+(\w+)", source, flags=re.MULTILINE))
    return frozenset(node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef))


def same(one: str, other: str) -> bool:
    """Equal up to white space at line ends and around."""
    return [line.rstrip() for line in one.strip().splitlines()] == [
        line.rstrip() for line in other.strip().splitlines()
    ]


def index_of(cells: list[NotebookNode], wanted: NotebookNode) -> int:
    """The place of this very cell, not of an equal one."""
    return next(i for i, cell in enumerate(cells) if cell is wanted)
