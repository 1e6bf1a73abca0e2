"""A lesson source as read from disk: its header, its cells, and the line each of them starts at."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jupytext
from nbformat import NotebookNode

from grader.errors import GraderError
from grader.lessons.folders import shown

__all__ = ["Cell", "Lesson", "parse_code", "parse_lesson", "written_form"]

_PERCENT = {"extension": ".py", "format_name": "percent"}
# The same two filters stand in solutions/jupytext.toml, for JupyterLab.
_FILTERS = {"notebook_metadata_filter": "course,-all", "cell_metadata_filter": "nbgrader,tags,-all"}
_MARKER = re.compile(r"# %%( |$)")


@dataclass(frozen=True)
class Cell:
    """One cell. `line` is the line of its `# %%` marker in the file, counted from 1."""

    kind: str
    source: str
    line: int
    nbgrader: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    @property
    def is_code(self) -> bool:
        return self.kind == "code"

    @property
    def is_solution(self) -> bool:
        """Whether students write their answer here."""
        return bool(self.nbgrader.get("solution"))

    @property
    def is_graded(self) -> bool:
        """Whether nbgrader draws points from this cell."""
        return bool(self.nbgrader.get("grade"))

    @property
    def grade_id(self) -> str:
        """nbgrader's name of the cell; empty for a cell nbgrader does not know."""
        return str(self.nbgrader.get("grade_id", ""))

    def line_of(self, index: int) -> int:
        """The line in the file of the cell's line number `index`, counted from 0."""
        return self.line + 1 + index


@dataclass(frozen=True)
class Lesson:
    """A lesson source. `course` is its header: title, minutes, prerequisites, goals."""

    path: Path
    text: str
    course: Mapping[str, Any]
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        return self.path.stem

    def where(self, line: int) -> str:
        """`file:line`, as editors and terminals link it."""
        return f"{shown(self.path)}:{line}"


def parse_lesson(path: Path) -> Lesson:
    """Read one lesson source.

    Raises GraderError with file and line where it cannot be read as a lesson at all: missing, not UTF-8, no
    or broken header, text outside any cell. What stands inside the cells is judged by the rules.
    """
    text = _read(path)
    lines = text.split("\n")
    end = _header_end(path, lines)
    notebook = _jupytext_read(path, text)
    course = notebook.metadata.get("course")
    if not isinstance(course, dict):
        raise GraderError(
            f"{shown(path)}:1: the header has no `course:` block below `jupyter:`, with title, minutes, "
            "prerequisites and goals. Copy the header of another lesson and change it"
        )
    starts = _cell_starts(path, lines, end, len(notebook.cells))
    cells = tuple(_cell(node, start) for node, start in zip(notebook.cells, starts, strict=True))
    return Lesson(path, text, _plain(course), cells)


def written_form(text: str) -> str:
    """What JupyterLab would save after opening `text` as a notebook: `text` itself, in a clean source."""
    notebook = jupytext.reads(text, fmt=dict(_PERCENT))
    return str(jupytext.writes(notebook, fmt={**_PERCENT, **_FILTERS}))


def _read(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise GraderError(f"{shown(path)}: there is no such lesson source") from None
    except OSError as error:
        raise GraderError(f"{shown(path)}: cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GraderError(
            f"{shown(path)}:{line}: byte {error.start} is not UTF-8 text ({error.reason}). "
            "Save the file as UTF-8"
        ) from None


def _header_end(path: Path, lines: list[str]) -> int:
    """The index of the line that closes the header."""
    if lines[0].rstrip() != "# ---":
        raise GraderError(
            f"{shown(path)}:1: a lesson starts with its header, a line `# ---`; found {lines[0][:60]!r}. "
            "Copy the header of another lesson and change it"
        )
    for index, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "# ---":
            return index
        if not line.startswith("#"):
            break
    raise GraderError(f"{shown(path)}:1: the header is not closed: a second line `# ---` is missing")


def _jupytext_read(path: Path, text: str) -> NotebookNode:
    try:
        notebook: NotebookNode = jupytext.reads(text, fmt=dict(_PERCENT))
    except Exception as error:  # YAML, JSON and jupytext's own errors share no base class
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark is not None else 1
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise GraderError(
            f"{shown(path)}:{line}: jupytext cannot read this file: {reason}. The usual cause is the "
            "header's YAML: a text with `: ` in it needs quotes, a list item starts with `- `"
        ) from None
    return notebook


def _cell_starts(path: Path, lines: list[str], header_end: int, expected: int) -> list[int]:
    """The line numbers of the `# %%` markers, one for each of the `expected` cells jupytext sees."""
    starts = [number for number, line in enumerate(lines, start=1) if _MARKER.match(line)]
    first = starts[0] if starts else len(lines) + 1
    for number in range(header_end + 2, first):
        if lines[number - 1].strip():
            raise GraderError(
                f"{shown(path)}:{number}: text outside any cell. Start a cell above it with `# %%` (code) or "
                "`# %% [markdown]`"
            )
    if not starts:
        raise GraderError(
            f"{shown(path)}:{header_end + 1}: no cell after the header: a cell starts with `# %%`"
        )
    if len(starts) != expected:
        raise GraderError(
            f"{shown(path)}:{starts[0]}: {len(starts)} lines start with `# %%`, but jupytext sees {expected} "
            "cells. A marker is indented or stands inside a string: change that line"
        )
    return starts


def _cell(node: NotebookNode, line: int) -> Cell:
    metadata = _plain(node.metadata)
    nbgrader = metadata.get("nbgrader", {})
    tags = tuple(metadata.get("tags", ()))
    return Cell(node.cell_type, node.source, line, nbgrader if isinstance(nbgrader, dict) else {}, tags)


def _plain(value: Any) -> Any:
    """`value` without notebook classes, so that it compares and prints as what it is."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def parse_code(source: str) -> ast.Module:
    """The syntax tree of a code cell; IPython's magics (`%`, `!`) count as empty statements.

    Raises SyntaxError.
    """
    return ast.parse(re.sub(r"^([ \t]*)[%!].*$", r"\1pass", source, flags=re.MULTILINE))
