"""Draws a Where as SVG text, one small picture for each panel: for pages of many answers, where matplotlib is too slow.

Texts and axes have the colour of the page's text, curves and squares mid-tones that are told apart on light and dark.
Each picture keeps its shape when it is scaled, needs no style sheet, and holds no id: any number can stand in a page.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape

from grader.where.model import Grid, Mark, Number, Plot, Where

__all__ = ["drawings"]

YOURS, RIGHT = "#d1660a", "#3a7fd5"  # as in the course's figures
WIDTH, HEIGHT = 340.0, 170.0  # of the field of curves with the numbers beside it
LEFT, EDGE = 42.0, 8.0
ROW = 16.0  # of the legend
_WRITTEN = 9  # columns up to which values are written into the squares

Span = tuple[float, float]


@lru_cache(maxsize=256)  # many students share a mistake
def drawings(where: Where) -> tuple[str, ...]:
    """An <svg> element for each panel, without alt text: that is `where.words`. The same Where gives the same text."""
    most = _largest(v for p in where.panels[:2] if isinstance(p, Grid) for row in p.values for v in row)
    rows = max((len(_legend(p)) for p in where.panels if isinstance(p, Plot)), default=0)
    return tuple(_grid(p, most) if isinstance(p, Grid) else _plot(p, rows) for p in where.panels)


# ---- curves ----------------------------------------------------------------------------------------------------------


def _plot(plot: Plot, rows: int) -> str:
    """rows: of the legend, as many in all panels, so that their fields are side by side."""
    top = 32 + ROW * rows
    bottom = top + HEIGHT
    xs, ys = (plot.x[0], plot.x[-1]), _range(plot)
    x, y = _scale(xs, (LEFT, WIDTH - EDGE)), _scale(ys, (bottom, top))
    parts = [_text(0, 14, plot.title, bold=True)]
    parts += [_key(24 + ROW * k, key, label) for k, (key, label) in enumerate(_legend(plot))]
    for low, high in plot.shaded:
        left, right = (x(min(max(v, xs[0]), xs[1])) for v in (low, high))
        parts.append(_rect(left, top, right - left, HEIGHT, YOURS, 0.14))
    parts += [_rule(LEFT, y(t), WIDTH - EDGE, y(t), 0.45 if t == 0 else 0.13) for t in _ticks(ys, 4)]
    parts += [_text(LEFT - 6, y(t) + 4, _number(t), anchor="end") for t in _ticks(ys, 4)]
    parts += [_rule(x(t), bottom, x(t), bottom + 4, 0.45) for t in _ticks(xs, 6)]
    parts += [_text(x(t), bottom + 17, _number(t), anchor="middle") for t in _ticks(xs, 6)]
    parts += [_rule(LEFT, bottom, WIDTH - EDGE, bottom, 0.45)]
    parts += [_text((LEFT + WIDTH - EDGE) / 2, bottom + 32, plot.across, anchor="middle")]
    across = [x(v) for v in plot.x]
    for line in plot.lines:
        style = _LINES[line.role]
        parts += [
            f'<polyline points="{points}" fill="none" {style}/>' for points in _pieces(across, [*map(y.of, line.y)])
        ]
    parts += [piece for mark in plot.marks for piece in _mark(mark, x, y, (top, bottom))]
    return _svg(WIDTH, bottom + 38, parts)


_LINES = {
    "right": f'stroke="{RIGHT}" stroke-width="4" stroke-opacity=".7" stroke-linejoin="round"',
    "yours": f'stroke="{YOURS}" stroke-width="2" stroke-dasharray="6 3" stroke-linejoin="round"',
}


class _scale:
    """From numbers to places: (from, to) lies at (from, to)."""

    def __init__(self, numbers: Span, places: Span) -> None:
        self.start, self.place = numbers[0], places[0]
        self.step = (places[1] - places[0]) / ((numbers[1] - numbers[0]) or 1.0)

    def __call__(self, number: float) -> float:
        return self.place + (number - self.start) * self.step

    def of(self, number: Number) -> float | None:
        return None if number is None else self(number)


def _range(plot: Plot) -> Span:
    """From the least to the greatest number shown, and a little air."""
    shown = [v for line in plot.lines for v in line.y] + [v for m in plot.marks for v in (m.y, m.low, m.high)]
    finite = [v for v in shown if v is not None] or [0.0]
    low, high = min(finite), max(finite)
    air = 0.06 * (high - low) or 0.5 * abs(low) or 1.0
    return low - air, high + air


def _legend(plot: Plot) -> list[tuple[str, str]]:
    rows = [(_LINES[line.role], line.label) for line in plot.lines]
    rows += [("", "where they differ")] if plot.shaded else []
    return rows + ([("mark", "a single point that differs")] if plot.marks else [])


def _key(y: float, key: str, label: str) -> str:
    """A row of the legend: a sample and its words."""
    if key == "mark":
        sample = _cross(11, y + 5)
    else:
        sample = _rule(0, y + 5, 22, y + 5, 1, key) if key else _rect(0, y - 1, 22, 12, YOURS, 0.22)
    return sample + _text(28, y + 9, label)


def _pieces(x: Sequence[float], y: Sequence[float | None]) -> Iterator[str]:
    """The points of each stretch of a curve that has numbers; those on a straight line between others left out."""
    piece: list[tuple[float, float]] = []
    for at, value in [*zip(x, y, strict=True), (0.0, None)]:
        if value is None:
            if piece:
                yield " ".join(f"{a:.1f},{b:.1f}" for a, b in (piece if len(piece) > 1 else piece * 2))
            piece = []
        elif len(piece) > 1 and _straight(piece[-2], piece[-1], (at, value)):
            piece[-1] = (at, value)
        else:
            piece.append((at, value))


def _straight(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) < 0.02 * (c[0] - a[0])


def _mark(mark: Mark, x: _scale, y: _scale, field: Span) -> Iterator[str]:
    at, right = x(mark.x), [y(v) for v in (mark.low, mark.high) if v is not None]
    if len(right) == 2 and mark.low != mark.high:
        yield _rule(at, right[0], at, right[1], 0.7, f'stroke="{RIGHT}" stroke-width="4"')
    yield from (f'<circle cx="{at:.1f}" cy="{v:.1f}" r="4" fill="{RIGHT}"/>' for v in right)
    if mark.y is None:
        yield _rule(at, field[0], at, field[1], 1, f'stroke="{YOURS}" stroke-width="1.5" stroke-dasharray="2 3"')
        yield _text(at + 5, field[0] + 12, "no number", color=YOURS)
    else:
        yield _cross(at, y(mark.y))


def _cross(x: float, y: float) -> str:
    style = f'stroke="{YOURS}" stroke-width="3" stroke-linecap="round"'
    return f'<path d="M{x - 4.5:.1f} {y - 4.5:.1f}l9 9m0 -9l-9 9" {style}/>'


def _ticks(span: Span, count: int) -> list[float]:
    """About `count` round numbers in a span."""
    rough = (span[1] - span[0]) / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * k for k in (1, 2, 5, 10) if unit * k >= 0.999 * rough)
    first, last = math.ceil(span[0] / step), math.floor(span[1] / step)
    return [k * step for k in range(first, last + 1)]


# ---- matrices --------------------------------------------------------------------------------------------------------


def _grid(grid: Grid, most: float) -> str:
    written = len(grid.columns) <= _WRITTEN
    wide, tall = (44.0, 26.0) if written else (21.0, 21.0)
    left = round(10 + 6.6 * max(map(len, grid.rows), default=0))
    top, names = 24.0, 10 + 6.6 * max(map(len, grid.columns), default=0)
    level = names <= wide + 6  # names that fit stand upright
    small = _largest(v for row in grid.values for v in row) < 0.05
    size = len(grid.columns) * wide, len(grid.rows) * tall
    parts = [_text(0, 14, grid.title, bold=True), _rect(left, top, *size, "currentColor", 0.05)]
    for i, (row, values) in enumerate(zip(grid.rows, grid.values, strict=True)):
        y = top + i * tall
        parts.append(_text(left - 6, y + tall / 2 + 4, row, anchor="end"))
        for j, value in enumerate(values):
            parts += _square(left + j * wide, y, (wide, tall), value, most)
            if written:
                parts.append(_text(left + (j + 0.5) * wide, y + tall / 2 + 4, _entry(value, small), anchor="middle"))
    bottom = top + len(grid.rows) * tall
    for j, name in enumerate(grid.columns):
        middle = left + (j + 0.5) * wide
        parts.append(
            _text(middle, bottom + 15, name, anchor="middle")
            if level
            else _text(middle + 4, bottom + 7, name, anchor="end", turned=True)
        )
    return _svg(left + len(grid.columns) * wide + 2, bottom + (20 if level else names), parts, kind="grid")


def _square(x: float, y: float, size: Span, value: Number, most: float) -> Iterator[str]:
    """Blue is positive, orange negative; the more colour, the larger. What is no number has a frame."""
    if value is None:
        frame = f'x="{x + 2:g}" y="{y + 2:g}" width="{size[0] - 4:g}" height="{size[1] - 4:g}"'
        yield f'<rect {frame} fill="none" stroke="{YOURS}" stroke-width="2"/>'
    elif value:
        share = min(abs(value) / most, 1.0)
        yield _rect(x + 1, y + 1, size[0] - 2, size[1] - 2, RIGHT if value > 0 else YOURS, 0.12 + 0.55 * share)


def _entry(value: Number, small: bool) -> str:
    """A number in the few letters that a square has room for. small: so are all of them, so none is taken for 0."""
    if value is None:
        return "NaN"
    size = abs(value)
    if size >= 1000 or (small and size > 0):
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    if 0 < size < 0.005:
        return "≈0"
    return f"{value + 0.0:.3g}" if size >= 1 else f"{value + 0.0:.2f}".rstrip("0").rstrip(".")


def _largest(values: Iterable[Number]) -> float:
    return max((abs(v) for v in values if v is not None), default=0.0) or 1.0


# ---- elements --------------------------------------------------------------------------------------------------------


def _svg(width: float, height: float, parts: Iterable[str], *, kind: str = "plot") -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="system-ui, sans-serif" font-size="11.5" '
        f'fill="currentColor" aria-hidden="true">{"".join(parts)}</svg>'
    )


def _text(
    x: float, y: float, text: str, *, anchor: str = "", bold: bool = False, turned: bool = False, color: str = ""
) -> str:
    more = f' text-anchor="{anchor}"' * bool(anchor) + ' font-weight="600"' * bold + f' fill="{color}"' * bool(color)
    if turned:
        more += f' transform="rotate(-90 {x:.1f} {y:.1f})"'
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text.replace("-", "−") if _is_number(text) else text)}</text>'


def _is_number(text: str) -> bool:
    return text.startswith("-") and text[1:2].isdigit()


def _rect(x: float, y: float, width: float, height: float, color: str, opacity: float) -> str:
    place = f'x="{_short(x)}" y="{_short(y)}" width="{_short(width)}" height="{_short(height)}"'
    return f'<rect {place} fill="{color}" fill-opacity="{opacity:.2f}"/>'


def _rule(x: float, y: float, to_x: float, to_y: float, opacity: float, style: str = 'stroke="currentColor"') -> str:
    shown = "" if "stroke-opacity" in style else f' stroke-opacity="{opacity:g}"'
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" {style}{shown}/>'


def _short(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")


def _number(value: float) -> str:
    return f"{value + 0.0:.5g}".replace("e+0", "e").replace("e-0", "e-")
