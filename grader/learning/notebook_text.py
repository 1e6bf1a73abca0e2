"""One cell's text in the text of an .ipynb file, exchanged without touching a byte of the rest.

Reading a notebook and writing it again would change its layout (indentation, order, escapes) wherever another
program saved it. So the place of the one value is found with json's own scanner, and only that is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import WHITESPACE  # type: ignore[attr-defined]
from typing import Any

__all__ = ["CellText", "find_cell", "replace_source"]

_read = json.JSONDecoder().raw_decode


@dataclass(frozen=True)
class CellText:
    """A cell's source, where its value stands in the file's text (from `start` to `end`), and the cell's id."""

    source: str
    start: int
    end: int
    cell_id: str


def find_cell(text: str, grade_id: str) -> CellText | None:
    """The cell with this grade_id in its nbgrader metadata, None where there is none.

    Raises ValueError for text that is no notebook.
    """
    for key, start, _ in _members(text, _skip(text, 0)):
        if key == "cells":
            for at, value in _items(text, start):
                if _grade_id(value) == grade_id:
                    return _located(text, at, value)
            return None
    raise ValueError("no cells")


def replace_source(text: str, cell: CellText, source: str) -> str:
    """`text` with another source in that cell, laid out as the old one was: a list of lines, or one string."""
    old = text[cell.start : cell.end]
    if old.startswith("["):
        new = _laid_out([json.dumps(line, ensure_ascii=False) for line in source.splitlines(keepends=True)], old, text)
    else:
        new = json.dumps(source, ensure_ascii=False)
    return text[: cell.start] + new + text[cell.end :]


def _laid_out(lines: list[str], old: str, text: str) -> str:
    """A list of these lines with the spaces and line breaks of the list `old`."""
    if not lines:
        return "[]"
    starts = [at for at, _ in _items(old, 0)]
    if not starts:  # an empty list shows no layout: take nbformat's own
        before, between, after = ("\n    ", ",\n    ", "\n   ") if "\n" in text else ("", ", ", "")
    else:
        last = _read(old, starts[-1])[1]
        before, after = old[1 : starts[0]], old[last:-1]
        between = old[_read(old, starts[0])[1] : starts[1]] if len(starts) > 1 else "," + (before or " ")
    return f"[{before}{between.join(lines)}{after}]"


def _grade_id(cell: Any) -> object:
    try:
        return cell["metadata"]["nbgrader"]["grade_id"]
    except (KeyError, TypeError):
        return None


def _located(text: str, at: int, cell: dict[str, Any]) -> CellText:
    for key, start, end in _members(text, at):
        if key == "source":
            source = cell["source"]
            return CellText("".join(source), start, end, str(cell.get("id", "")))
    raise ValueError("a cell without source")


def _members(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The members of the object that starts at `at`: key, and where its value starts and ends."""
    if text[at : at + 1] != "{":
        raise ValueError("no object")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = _read(text, at)
        start = _skip(text, _skip(text, at) + 1)  # past the colon
        _, end = _read(text, start)
        yield key, start, end
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _items(text: str, at: int) -> Iterator[tuple[int, Any]]:
    """The items of the array that starts at `at`: where each starts, and its value."""
    if text[at : at + 1] != "[":
        raise ValueError("no array")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "]":
        value, end = _read(text, at)
        yield at, value
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    return int(WHITESPACE.match(text, at).end())
