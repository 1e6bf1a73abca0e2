"""Draws a Where with matplotlib, in the look of the course's figures: mid-tones on no background.

Import it late: matplotlib takes a third of a second when it is first loaded.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from grader.learning.plots import COLORS, TEXT, canvas, heat
from grader.where.model import Grid, Line, Mark, Number, Plot, Where

__all__ = ["Picture", "picture"]

DOTS = 2  # of the PNG for each CSS pixel, so that it is sharp on a dense screen
PIXELS = 80  # CSS pixels for each inch of the figure
_BLUE, _ORANGE = COLORS[0], COLORS[1]
_WRITTEN = 9  # columns up to which the values are written into the squares


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture, and its size in CSS pixels. words: its alt text."""

    data: bytes
    form: Literal["png", "svg"]
    width: int
    height: int
    words: str


def picture(where: Where, *, form: Literal["png", "svg"] = "png") -> Picture:
    """Draw what was found. The same Where gives the same bytes."""
    grids = [p for p in where.panels if isinstance(p, Grid)]
    figure = _grids(grids) if grids else _plots([p for p in where.panels if isinstance(p, Plot)])
    data = _svg(figure) if form == "svg" else _png(figure)
    width, height = (round(float(inches) * PIXELS) for inches in figure.get_size_inches())
    return Picture(data, form, width, height, where.words)


def _png(figure: Figure) -> bytes:
    """The figure with a palette of its own: a quarter of the bytes, which a notebook keeps for each check."""
    drawn, target = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS * PIXELS, pil_kwargs={"compress_level": 0})
    Image.open(drawn).quantize(128, Image.Quantize.FASTOCTREE).save(target, format="png")
    return target.getvalue()


def _svg(figure: Figure) -> bytes:
    target = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "where"}):  # else the names in it are random
        figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    return target.getvalue()


# ---- curves ----------------------------------------------------------------------------------------------------------


def _plots(plots: Sequence[Plot]) -> Figure:
    figure, axes = canvas(len(plots), width=4.4 * len(plots), height=3.0)
    for ax, plot in zip(axes.flat, plots, strict=True):
        _plot(ax, plot)
    return figure


def _plot(ax: Axes, plot: Plot) -> None:
    x = np.array(plot.x)
    for low, high in plot.shaded:
        ax.axvspan(low, high, color=_ORANGE, alpha=0.13, lw=0)
    pair = {line.role: _floats(line.y) for line in plot.lines}
    if len(pair) == 2 and plot.shaded:
        inside = np.any([(x >= low) & (x <= high) for low, high in plot.shaded], axis=0)
        ax.fill_between(x, pair["yours"], pair["right"], where=inside, color=_ORANGE, alpha=0.3, lw=0)
    for line in plot.lines:
        _line(ax, x, line)
    for mark in plot.marks:
        _mark(ax, mark)
    ax.margins(x=0)
    ax.axhline(0, color=TEXT, lw=0.5, zorder=0)
    ax.set(title=plot.title, xlabel=plot.across)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (len(plot.lines) + 0.5) * (high - low))  # room for the legend
    ax.legend(loc="upper left", fontsize=9, borderpad=0, handlelength=1.6)


def _line(ax: Axes, x: np.ndarray[Any, Any], line: Line) -> None:
    if line.role == "yours":
        ax.plot(x, _floats(line.y), label=line.label, color=_ORANGE, lw=1.8, linestyle=(0, (5, 2)))
    else:
        ax.plot(x, _floats(line.y), label=line.label, color=_BLUE, lw=3.4, alpha=0.75)


def _mark(ax: Axes, mark: Mark) -> None:
    low, high = (np.nan if v is None else v for v in (mark.low, mark.high))
    ax.plot([mark.x, mark.x], [low, high], color=_BLUE, lw=3.4, marker="o", ms=5, alpha=0.75, zorder=3)
    if mark.y is None:
        ax.axvline(mark.x, color=_ORANGE, lw=1.2, linestyle=":")
        ax.annotate("no number", (mark.x, 0), (4, 10), textcoords="offset points", color=_ORANGE, fontsize=9)
        return
    ax.plot([mark.x], [mark.y], color=_ORANGE, marker="X", ms=9, mec="none", zorder=4)


def _floats(values: Sequence[Number]) -> np.ndarray[Any, Any]:
    return np.array([np.nan if v is None else v for v in values], dtype=float)


# ---- matrices --------------------------------------------------------------------------------------------------------


def _grids(grids: Sequence[Grid]) -> Figure:
    """Side by side where that fits a page, else one above the other."""
    rows, columns = len(grids[0].rows), len(grids[0].columns)
    cell = 0.5 if columns <= _WRITTEN else 0.3
    wide, tall = columns * cell + 0.9, rows * cell * 0.8 + 0.4
    beside = 3 * wide <= 10.5
    shape = (len(grids), 1) if beside else (1, len(grids))
    width, height = (len(grids) * wide, tall) if beside else (wide, len(grids) * tall)
    height += 0.7  # the names of the columns
    figure, axes = canvas(*shape, width=max(width, 4.0), height=height)
    most = max((abs(v) for g in grids[:2] for row in g.values for v in row if v is not None), default=1.0)
    for index, (ax, grid) in enumerate(zip(axes.flat, grids, strict=True)):
        _grid(ax, grid, most, named=index == 0 or not beside, below=beside or index == len(grids) - 1)
    return figure


def _grid(ax: Axes, grid: Grid, most: float, *, named: bool, below: bool) -> None:
    matrix = np.array([[np.nan if v is None else v for v in row] for row in grid.values], dtype=float)
    written = len(grid.columns) <= _WRITTEN
    heat(ax, matrix, limit=most or 1.0, decimals=2 if written else 0)
    for text in list(ax.texts):
        if text.get_text() == "nan":  # on no colour, so not in white
            text.set(text="NaN", color=_ORANGE)
        elif not written:
            text.remove()
    ax.set_aspect("auto")
    ax.set_title(grid.title, fontsize=10)
    columns, rows = (grid.columns if below else ()), (grid.rows if named else ())
    ax.set_xticks(range(len(columns)), columns, rotation=90, fontsize=8)
    ax.set_yticks(range(len(rows)), rows, fontsize=8)
