"""What was found, as plain data: panels of curves or matrices, and the words that say what they show."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["Grid", "Line", "Mark", "Number", "Plot", "Where", "rounded"]

Number = float | None
"""A finite number; None stands for NaN and the infinities."""

Role = Literal["yours", "right"]
MOST = 1000  # numbers in a row: far more than is ever drawn
_NONE = "-"  # a number that is None, written


@dataclass(frozen=True)
class Line:
    """A curve. role: "yours" is what the learner's code gave, "right" what it is compared with."""

    label: str
    role: Role
    y: tuple[Number, ...]


@dataclass(frozen=True)
class Mark:
    """A point that differs: at x the learner's code gives y; anything from low to high would be right."""

    x: float
    y: Number
    low: Number
    high: Number


@dataclass(frozen=True)
class Plot:
    """Curves over `x`. shaded: the intervals (from, to) of x where they disagree."""

    title: str
    across: str
    x: tuple[float, ...]
    lines: tuple[Line, ...]
    shaded: tuple[tuple[float, float], ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A matrix with a name for each row and column."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: tuple[tuple[Number, ...], ...]


@dataclass(frozen=True)
class Where:
    """Where an answer goes wrong. words: what the panels show, in words."""

    words: str
    panels: tuple[Plot | Grid, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; `from_dict` reads it back. Numbers stand in strings: a notebook keeps a list one to a line."""
        return {"words": self.words, "panels": [_plain(panel) for panel in self.panels]}

    @staticmethod
    def from_dict(found: Any) -> Where:
        """The Where that `to_dict` gave. ValueError where `found` is anything else."""
        try:
            panels = tuple(_panel(panel) for panel in found["panels"])
            return Where(_text(found["words"]), panels)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no picture's data: {type(error).__name__}: {error}") from None


def rounded(values: Iterable[float]) -> tuple[Number, ...]:
    """The values with 5 digits, and None for those that are not finite."""
    return tuple(float(f"{v:.5g}") if math.isfinite(v) else None for v in values)


def _plain(panel: Plot | Grid) -> dict[str, Any]:
    if isinstance(panel, Grid):
        return {"kind": "grid", **asdict(panel), "values": [_packed(row) for row in panel.values]}
    return {
        "kind": "plot",
        "title": panel.title,
        "across": panel.across,
        "x": _packed(panel.x),
        "lines": [{"label": line.label, "role": line.role, "y": _packed(line.y)} for line in panel.lines],
        "shaded": [_packed(interval) for interval in panel.shaded],
        "marks": [_packed((mark.x, mark.y, mark.low, mark.high)) for mark in panel.marks],
    }


def _panel(panel: Any) -> Plot | Grid:
    if panel["kind"] == "grid":
        values = tuple(map(_numbers, _short(panel["values"])))
        grid = Grid(_text(panel["title"]), _texts(panel["rows"]), _texts(panel["columns"]), values)
        if len(grid.values) != len(grid.rows) or any(len(row) != len(grid.columns) for row in grid.values):
            raise ValueError("a matrix and its labels differ in size")
        return grid
    x = _finite(panel["x"])
    lines = tuple(_line(line, len(x)) for line in panel["lines"])
    shaded = tuple((low, high) for low, high in map(_finite, panel["shaded"]))
    marks = tuple(_mark(mark) for mark in panel["marks"])
    return Plot(_text(panel["title"]), _text(panel["across"]), x, lines, shaded, marks)


def _line(line: Any, count: int) -> Line:
    y = _numbers(line["y"])
    if line["role"] not in ("yours", "right") or len(y) != count:
        raise ValueError("a curve of another length, or of no known role")
    return Line(_text(line["label"]), line["role"], y)


def _mark(mark: Any) -> Mark:
    x, y, low, high = _numbers(mark)
    if x is None:
        raise ValueError("a point at no place")
    return Mark(x, y, low, high)


def _packed(values: Iterable[Number]) -> str:
    return " ".join(_NONE if value is None else repr(value) for value in values)


def _numbers(packed: Any) -> tuple[Number, ...]:
    parts = packed.split(maxsplit=MOST) if isinstance(packed, str) else None
    if parts is None or len(parts) > MOST:
        raise ValueError("no numbers, or too many")
    return tuple(None if part == _NONE else _number(part) for part in parts)


def _finite(packed: Any) -> tuple[float, ...]:
    return tuple(_number(value) for value in _numbers(packed))


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is no number")
    return number


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(_text(v) for v in _short(values))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is no text")
    return value[:MOST]


def _short(values: Any) -> Any:
    if not isinstance(values, (list, tuple)) or len(values) > MOST:
        raise ValueError("no list, or one that is too long")
    return values
