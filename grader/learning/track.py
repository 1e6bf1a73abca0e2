"""Long loops that show how far they are, and say what was kept when somebody stops them.

`for step in track(range(300), "training")`. In a notebook a bar, in a terminal a line of text; a loop that is over in
a moment shows nothing, and neither does a graded run. Nothing is ever written to stderr, which would cost the points
of a test cell.
"""

from __future__ import annotations

import html
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol, TypeVar

from grader.learning.notebook import in_a_notebook

__all__ = ["track"]

T = TypeVar("T")

_SHOW_AFTER = 0.4  # seconds: shorter loops show nothing
_SHOW_EVERY = 0.1


def track(items: Iterable[T], label: str = "working") -> Iterator[T]:
    """The items one by one, with a bar that says how many are done.

    A loop left early, with the stop button, by an error or by `break`, leaves one line that says after how many
    items, if any. The exception goes on its way.
    """
    total = len(items) if isinstance(items, Sized) else 0
    bar = _bar(label, total)
    done, began = 0, time.monotonic()
    shown = began + _SHOW_AFTER - _SHOW_EVERY
    try:
        for item in items:
            yield item
            done += 1
            now = time.monotonic()
            if now - shown >= _SHOW_EVERY:
                shown = now
                bar.show(_line(label, done, total), done)
    except BaseException:  # GeneratorExit among them: the loop's own code raised, or left
        if done:
            bar.end(f"{label}: stopped after {_count(done, total)}. What these steps did is kept.")
        raise
    else:
        if bar.is_shown:
            bar.end(f"{label}: {_count(done, total)}, done")


def _count(done: int, total: int) -> str:
    return f"{done} of {total} steps" if total else f"{done} steps"


def _line(label: str, done: int, total: int) -> str:
    return f"{label}: {_count(done, total)}"


class _Bar(Protocol):
    is_shown: bool

    def show(self, text: str, done: int) -> None: ...

    def end(self, text: str) -> None: ...


def _bar(label: str, total: int) -> _Bar:
    if in_a_notebook():
        return _Notebook(label, total)
    return _Terminal() if sys.stdout.isatty() else _Silence()


class _Silence:
    is_shown = False

    def show(self, text: str, done: int) -> None:
        pass

    def end(self, text: str) -> None:
        pass


class _Terminal:
    """One line, written over again."""

    is_shown = False

    def show(self, text: str, done: int) -> None:
        self.is_shown = True
        print(f"\r{text}", end="", flush=True)

    def end(self, text: str) -> None:
        print(f"\r{text}")


class _Notebook:
    """An output of the cell, updated in place."""

    def __init__(self, label: str, total: int) -> None:
        self.label, self.total = label, total
        self.id = uuid.uuid4().hex
        self.is_shown = False

    def show(self, text: str, done: int) -> None:
        label = html.escape(self.label, quote=True)
        size = f' max="{self.total}" value="{done}"' if self.total else ""
        self._put(text, f'<progress aria-label="{label}"{size} style="width:16em"></progress> {html.escape(text)}')

    def end(self, text: str) -> None:
        self._put(text, html.escape(text))

    def _put(self, text: str, markup: str) -> None:
        from IPython.display import display

        data = {"text/plain": text, "text/html": markup}
        display(data, raw=True, display_id=self.id, update=self.is_shown)  # type: ignore[no-untyped-call]
        self.is_shown = True
