"""Small messages shown to the learner: HTML in a notebook, plain text elsewhere.

Everything is drawn with the page's own text colour and one mid-tone per mood, so it reads on light and dark
pages.
"""

from __future__ import annotations

import difflib
import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["Card", "block", "inline", "message", "nearest", "note_html"]

Mood = Literal["hint", "news", "sorry"]
_BAR = {"hint": "#3a7fd5", "news": "#2d8f57", "sorry": "#d1660a"}


@dataclass(frozen=True, repr=False)
class Card:
    """Something to look at: as the last line of a cell it shows itself, and `print` shows its text."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def message(title: str, paragraphs: Sequence[str] = (), *, mood: Mood = "news", folded: str = "") -> Card:
    """A card with a title and paragraphs of text; `backticks` mark code. `folded` is further HTML."""
    body = "".join(f'<p style="margin:.4em 0 0;max-width:46em">{inline(text)}</p>' for text in paragraphs)
    box = f"border-left:3px solid {_BAR[mood]};padding:.2em 0 .3em .8em;margin:.3em 0;max-width:60em"
    return Card(
        text="\n".join([title, *(f"  {text}" for text in paragraphs)]),
        html=f'<div style="{box}"><strong>{inline(title)}</strong>{body}{folded}</div>',
    )


def inline(text: str) -> str:
    """Plain text as HTML: escaped, line breaks kept, `code` in backticks set as code."""
    safe = html.escape(text, quote=False).replace("\n", "<br>")
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)


def block(code: str) -> str:
    """Code on lines of its own, as HTML: scrolls sideways where it is too wide."""
    box = "overflow-x:auto;margin:.3em 0 0;padding:.4em .7em;background:rgba(128,128,128,.1);border-radius:4px"
    kept = "white-space:pre;overflow-wrap:normal;word-break:normal"
    text = html.escape(code, quote=False)
    return f'<pre style="{box};{kept}"><code style="background:none;{kept}">{text}</code></pre>'


def note_html(notes: Iterable[str]) -> str:
    """Small print below a table."""
    return "".join(f'<p style="margin:.4em 0 0;font-size:90%">{inline(note)}</p>' for note in notes)


def nearest(name: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """The known names most like `name`, best first; none where nothing is near."""
    by_lower = {id.lower(): id for id in known}
    wanted = name.strip().lower()
    near = difflib.get_close_matches(wanted, by_lower, n=count, cutoff=0.55)
    holding = [id for id in by_lower if wanted and (wanted in id or id in wanted) and id not in near]
    return [by_lower[id] for id in [*near, *holding][:count]]
