"""From "a function of a few values that draws a figure" to something a learner can move.

Where a kernel talks to a notebook there are controls above the picture (live.py). Everywhere else, in an nbgrader
run too, there is the picture for the first values. Either way the picture is an ordinary output of the cell, so a
saved notebook shows it without a kernel, with words for whoever cannot see it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from grader.guard import one_thread
from grader.learning.notebook import in_a_notebook
from grader.learning.output import bundle
from grader.learning.plots import figure, load_backend

__all__ = ["Choice", "Control", "Draw", "Picture", "Slider", "explore", "frames", "panels"]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, and what is to be seen in it in words (its alt text)."""

    figure: Figure
    alt: str


Draw = Callable[..., Picture | Iterator[Picture]]
"""Draws the figure for the controls' values, given by name; an iterator gives one picture after the other."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A few names to choose one of."""

    description: str
    options: tuple[str, ...]

    @property
    def start(self) -> str:
        return self.options[0]


@dataclass(frozen=True, slots=True)
class Slider:
    """A slider over a few values, shown as `text` gives them; with `buttons`, Back and Next beside it."""

    description: str
    values: tuple[Any, ...]
    start: Any
    text: Callable[[Any], str] = str
    buttons: bool = False


Control = Choice | Slider


def explore(draw: Draw, controls: Mapping[str, Control], *, columns: tuple[tuple[str, ...], ...] = ()) -> None:
    """Show the picture that `draw` makes of the controls' values, with the controls above it where they work.

    `columns` sets controls side by side, by name; the others stand in a row of their own. Raises what `draw`
    raises for the first values; later errors are said in words below the controls.
    """
    if in_a_notebook():
        from grader.learning.explorers.live import Live

        Live(draw, controls, columns).show()
        return
    *_, last = frames(draw, {name: control.start for name, control in controls.items()})
    if "IPython" in sys.modules:
        from IPython.display import display

        note = "Open this notebook in JupyterLab and run the cell to move the controls."
        data, metadata = bundle(last.figure, last.alt, note=note)
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]
    else:
        print(last.alt)


def panels(columns: int, *, width: float = 9, height: float, top: float = 0.35, **kwargs: Any) -> tuple[Figure, Any]:
    """A figure in the course's look whose panels stay where they are, whatever their numbers become.

    Sizes are in inches, `top` is the room for titles. A layout that adapts costs two thirds of a drawing's time, and
    the panels would jump about while a slider moves.
    """
    room = {"left": 0.6 / width, "right": 1 - 0.15 / width, "top": 1 - top / height, "bottom": 0.55 / height}
    return figure(columns, width=width, height=height, layout="none", gridspec_kw={**room, "wspace": 0.22}, **kwargs)


def frames(draw: Draw, values: Mapping[str, Any]) -> Iterator[Picture]:
    """The pictures for these values, one at least; their figures are unknown to pyplot by the time they are seen.

    pyplot would keep every figure, and Jupyter would show it once more at the end of the cell.
    """
    load_backend()
    film: Iterator[Picture] | None = None
    while True:
        before = plt.get_fignums()
        try:
            with plt.ioff(), one_thread():  # tiny tensors: more threads would only wait for each other
                if film is None:
                    drawn = draw(**values)
                    film = iter([drawn]) if isinstance(drawn, Picture) else drawn
                picture = next(film, None)
        finally:
            for number in set(plt.get_fignums()).difference(before):
                plt.close(number)
        if picture is None:
            return
        yield picture
