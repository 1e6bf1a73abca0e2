"""The controls of an explorer, as ipywidgets, and the loop that keeps the picture up with them.

The picture is a display of its own below the controls, updated in place. Updates run on the kernel's main thread,
between the learner's cells: widgets may report from another thread, and matplotlib is not made for two. However fast
a slider is moved, only its newest value is drawn.
"""

from __future__ import annotations

import asyncio
import contextvars
import html
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import ipywidgets as widgets
from IPython.core.getipython import get_ipython
from IPython.display import display, update_display

from grader.learning.explorers.explorer import Choice, Control, Draw, Picture, Slider, frames
from grader.learning.output import bundle

__all__ = ["Live"]

_PAUSE = 0.02  # seconds in which more movements of a slider may come in
_NOTE = "Nothing to move, or it moves nothing? Run this cell again."
_ELSEWHERE = "(Controls: they work when this cell is run in JupyterLab.)"
_LAYOUT = {"width": "min(100%, 26em)"}
_STYLE = {"description_width": "7em"}
_alive: dict[str, Live] = {}  # by cell: what a cell showed before is closed when it runs again


class Live:
    """One explorer on a page."""

    def __init__(self, draw: Draw, controls: Mapping[str, Control], columns: tuple[tuple[str, ...], ...]) -> None:
        self.draw = draw
        self.controls = {name: _widget(control) for name, control in controls.items()}
        self.said = widgets.HTML()
        self.box = _arrange(controls, self.controls, columns, self.said)
        self.id = uuid.uuid4().hex
        self.context = contextvars.copy_context()  # its outputs belong to this cell, whenever they come
        self.waiting = False
        self.film: Iterator[Picture] = iter(())
        try:
            self.loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            self.loop = None
        for control in self.controls.values():
            control.observe(self._moved, names="value")

    def show(self) -> None:
        """Display the controls and, below, the picture for their present values."""
        *_, last = frames(self.draw, self._values())
        _close_what_the_cell_had(self)
        controls = {**self.box._repr_mimebundle_(), "text/plain": _ELSEWHERE}
        display(controls, raw=True)  # type: ignore[no-untyped-call]
        data, metadata = bundle(last.figure, last.alt, note=_NOTE)
        display(data, metadata=metadata, raw=True, display_id=self.id)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Take the controls off the page and let go of them."""
        for widget in (*self.controls.values(), self.said, self.box):
            widget.close()

    def _values(self) -> dict[str, Any]:
        return {name: control.value for name, control in self.controls.items()}

    def _moved(self, _change: object) -> None:
        if self.loop is None:
            self._begin()
            while self._next():
                pass
        elif not self.waiting:
            self.waiting = True
            self.loop.call_soon_threadsafe(self._later, _PAUSE, self._begin_and_go_on, context=self.context)

    def _later(self, seconds: float, step: Callable[[], object]) -> None:
        assert self.loop is not None
        self.loop.call_later(seconds, step, context=self.context)

    def _begin(self) -> None:
        self.waiting = False  # what moves from here on is drawn once more
        self.film = frames(self.draw, self._values())

    def _begin_and_go_on(self) -> None:
        self._begin()
        self._go_on(self.film)

    def _go_on(self, film: Iterator[Picture]) -> None:
        """Show one picture and come back for the next, unless something else is to be shown by now."""
        if film is self.film and self._next():
            self._later(0.0, lambda: self._go_on(film))

    def _next(self) -> bool:
        """Show the next picture; False after the last one. What goes wrong is said below the controls."""
        try:
            picture = next(self.film, None)
            if picture is not None:
                data, metadata = bundle(picture.figure, picture.alt, note=_NOTE)
                self._update(data, metadata)
                self._say("")
        except (Exception, KeyboardInterrupt) as error:
            self._say(_in_words(error))
            return False
        return picture is not None

    def _update(self, data: dict[str, str], metadata: dict[str, Any]) -> None:
        update_display(data, metadata=metadata, raw=True, display_id=self.id)  # type: ignore[no-untyped-call]

    def _say(self, text: str) -> None:
        if self.said.value != text:
            self.said.value = text


def _in_words(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "Stopped. The picture shows what was there before; move a control to go on."
    said = html.escape(f"{type(error).__name__}: {error}")
    return f'<div role="alert">The picture shows the values before. These ones failed: {said}</div>'


def _widget(control: Control) -> Any:
    if isinstance(control, Choice):
        # Buttons, no drop-down list: in one, JupyterLab takes the arrow keys for moving between cells, x for cutting.
        return widgets.ToggleButtons(
            description=control.description,
            options=control.options,
            layout={"width": "100%"},
            style={**_STYLE, "button_width": "auto"},
        )
    return widgets.SelectionSlider(
        description=control.description,
        options=[(control.text(value), value) for value in control.values],
        value=control.start,
        layout=_LAYOUT,
        style=_STYLE,
    )


def _arrange(
    controls: Mapping[str, Control],
    made: Mapping[str, Any],
    columns: tuple[tuple[str, ...], ...],
    said: Any,
) -> Any:
    """All controls in one box, in the order of the keyboard's Tab."""
    beside = {name for column in columns for name in column}
    rows = [_with_buttons(made[name], controls[name]) for name in controls if name not in beside]
    if columns:
        boxes = [widgets.VBox([made[name] for name in column], layout=_LAYOUT) for column in columns]
        rows.append(widgets.HBox(boxes, layout={"flex_flow": "row wrap"}))
    return widgets.VBox([*rows, said])


def _with_buttons(slider: Any, control: Control) -> Any:
    if not (isinstance(control, Slider) and control.buttons):
        return slider
    buttons = []
    for text, by in (("Back", -1), ("Next", 1)):
        button = widgets.Button(description=text, layout={"width": "6em"})
        button.on_click(lambda _, by=by: _step(slider, by))
        buttons.append(button)
    return widgets.HBox([slider, *buttons], layout={"flex_flow": "row wrap"})


def _step(slider: Any, by: int) -> None:
    slider.index = min(max(slider.index + by, 0), len(slider.options) - 1)


def _close_what_the_cell_had(live: Live) -> None:
    """Widgets are kept by the kernel until they are closed: running a cell ten times would keep ten sets."""
    cell = get_ipython().parent_header.get("metadata", {}).get("cellId")  # type: ignore[union-attr]
    if cell:
        # A cell that shows two explorers has two boxes, told apart by what they draw.
        key = f"{cell}/{live.draw.__qualname__}"
        if key in _alive:
            _alive.pop(key).close()
        _alive[key] = live
