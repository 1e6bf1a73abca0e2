"""Figures for the lessons: one look that reads on a white page and on JupyterLab's dark one.

The background is transparent; text, spines and curves are mid-tones with a contrast of at least 3 : 1 on
white and on #111. The look belongs to the figure: matplotlib's global settings stay as they are. In a notebook
a figure is shown with its alt text (output.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from grader.learning.notebook import in_a_kernel
from grader.learning.output import bundle, in_words

__all__ = ["COLORS", "TEXT", "canvas", "chain", "figure", "heat", "load_backend"]

TEXT = "#797979"
"""The grey that is equally far from white and from #111."""

COLORS = ("#3a7fd5", "#d1660a", "#2d8f57", "#a35fd0", "#d5455f", "#178a99")
"""Blue, orange, green, violet, red, teal: about equally bright, told apart by hue."""

_STYLE: Any = {
    # Never drawn (frameon=False). A transparent one would make Jupyter lay a white card below the picture.
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "axes.edgecolor": TEXT,
    "axes.labelcolor": TEXT,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": mpl.rcsetup.cycler(color=COLORS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.size": 10,
    "text.color": TEXT,
    "xtick.color": TEXT,
    "xtick.major.width": 0.6,
    "ytick.color": TEXT,
    "ytick.major.width": 0.6,
}


class _CourseAxes(Axes):
    """Axes whose later texts and legends keep the look (matplotlib reads it from the global settings)."""

    def text(self, *args: Any, **kwargs: Any) -> Any:
        return super().text(*args, **_with_color(kwargs))

    def annotate(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("arrowprops"), dict):
            own = ("ec", "edgecolor", "fc", "facecolor")
            kwargs["arrowprops"] = _with_color(kwargs["arrowprops"], unless=own)
        return super().annotate(*args, **_with_color(kwargs))

    def legend(self, *args: Any, **kwargs: Any) -> Any:
        return super().legend(*args, **{"frameon": False, "labelcolor": TEXT, **kwargs})


class _CourseFigure(Figure):
    """A figure whose own title and texts keep the look, and which a notebook shows with its alt text."""

    def __init__(self, *args: Any, alt: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.alt = alt

    def text(self, *args: Any, **kwargs: Any) -> Any:
        return super().text(*args, **_with_color(kwargs))

    def show(self, warn: bool = True) -> None:
        """Show it here and now in a notebook; matplotlib would wait for its end, or warn that it has no window."""
        if in_a_kernel():
            self._ipython_display_()
        else:
            super().show(warn=warn)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        data, metadata = bundle(self, self.alt or in_words(self))
        plt.close(self)  # else Jupyter shows it once more when the cell ends
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]


def _with_color(kwargs: dict[str, Any], *, unless: Sequence[str] = ()) -> dict[str, Any]:
    """kwargs with the text colour, where they do not say one."""
    if any(name in kwargs for name in ("color", "c", *unless)):
        return kwargs
    return {**kwargs, "color": TEXT}


def figure(
    columns: int = 1,
    rows: int = 1,
    *,
    width: float | None = None,
    height: float | None = None,
    alt: str = "",
    **kwargs: Any,
) -> tuple[Figure, Any]:
    """A figure in the course's look, and its axes: one Axes, or an array of them as `plt.subplots` gives.

    width and height are those of the whole figure in inches (4.2 and 2.8 a panel where not given, at most 10
    wide); further keyword arguments (sharey=True, ...) go to `plt.subplots`. alt says what is to be seen, for whoever
    cannot see it; without one it is put together from titles, labels and legends.
    """
    size = (width or min(4.2 * columns, 10.0), height or 2.8 * rows)
    kwargs["subplot_kw"] = {"axes_class": _CourseAxes, **kwargs.get("subplot_kw", {})}
    options = {"FigureClass": _CourseFigure, "layout": "constrained", "frameon": False, "alt": alt, **kwargs}
    load_backend()
    with mpl.rc_context(_STYLE):
        return plt.subplots(rows, columns, figsize=size, **options)


def canvas(columns: int = 1, rows: int = 1, *, width: float, height: float, **kwargs: Any) -> tuple[Figure, Any]:
    """The same figure for a program that only wants its bytes: pyplot does not know it, so nothing shows it by itself
    and nothing need close it. Axes as an array of `rows` x `columns`.
    """
    with mpl.rc_context(_STYLE):
        fig = _CourseFigure(figsize=(width, height), layout="constrained", frameon=False)
        axes = fig.subplots(rows, columns, squeeze=False, subplot_kw={"axes_class": _CourseAxes}, **kwargs)
    return fig, axes


@cache
def load_backend() -> None:
    """Load the backend before any rc_context.

    Jupyter's turns interactive mode on when it loads, and a context would undo that on leaving: only the
    first figure of a notebook would be shown.
    """
    plt.switch_backend(mpl.get_backend())


# White text has a contrast of at least 4.5 : 1 on every shade, so a value is legible whatever the page.
_DIVERGING = LinearSegmentedColormap.from_list("course", ["#b34700", "#757575", "#0b57c2"])


def heat(ax: Axes, matrix: Any, title: str = "", *, decimals: int = 2, limit: float | None = None) -> None:
    """Draw a matrix (a tensor, an array or nested lists) as coloured squares with their values written in.

    Blue is positive, orange negative, grey zero. `limit` is the magnitude that gets the full colour: pass the
    same one to compare two matrices side by side. Above 12 rows or columns the values are left out.
    """
    values = np.asarray(matrix.detach().cpu() if hasattr(matrix, "detach") else matrix, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"heat draws a matrix (2 dimensions); this one has shape {values.shape}")
    top = limit or float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0
    if values.size:
        ax.imshow(values, cmap=_DIVERGING, vmin=-top, vmax=top, aspect="equal", interpolation="nearest")
    ax.set_title(title)
    ax.set_xticks(range(values.shape[1]))
    ax.set_yticks(range(values.shape[0]))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if max(values.shape) <= 12:
        for (i, j), value in np.ndenumerate(values):
            text = f"{value:.{decimals}f}" if value else "0"
            ax.text(j, i, text, ha="center", va="center", fontsize=9, color="white")


def chain(ax: Axes, nodes: Sequence[str], forward: Sequence[str], backward: Sequence[str]) -> None:
    """Draw a computation as boxes in a row: values go right above, gradients come back left below.

    `forward` and `backward` label the arrows around the nodes, left to right: one more than there are nodes.
    """
    if not len(forward) == len(backward) == len(nodes) + 1:
        raise ValueError(f"{len(nodes)} nodes have {len(nodes) + 1} arrows between and around them")
    ax.set(xlim=(0, 2 * len(nodes) + 1), ylim=(-0.7, 0.7))
    ax.axis("off")
    for k, name in enumerate(nodes):
        box = FancyBboxPatch(
            (2 * k + 1.1, -0.4), 0.8, 0.8, boxstyle="round,pad=0,rounding_size=0.1", fc="none", ec=TEXT
        )
        ax.add_patch(box)
        ax.text(2 * k + 1.5, 0, name, ha="center", va="center", fontsize=12)
    for k, (value, gradient) in enumerate(zip(forward, backward, strict=True)):
        _arrow(ax, (2 * k, 0.22), (2 * k + 1, 0.22), value, COLORS[0], above=True)
        _arrow(ax, (2 * k + 1, -0.22), (2 * k, -0.22), gradient, COLORS[1], above=False)


def _arrow(
    ax: Axes, start: tuple[float, float], end: tuple[float, float], label: str, color: str, *, above: bool
) -> None:
    ax.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "shrinkA": 0, "shrinkB": 0})
    middle, shift = (start[0] + end[0]) / 2, 0.06 if above else -0.06
    ax.text(middle, start[1] + shift, label, color=color, ha="center", va="bottom" if above else "top")
