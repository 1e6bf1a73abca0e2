"""A picture as a cell's output: a PNG, and HTML around the same PNG that carries the alt text.

JupyterLab and nbconvert show an `image/png` without any alt text, whatever the metadata says; both prefer HTML.
Viewers that know no HTML take the PNG, terminals the words.
"""

from __future__ import annotations

import base64
import html
import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

__all__ = ["bundle", "in_words"]

_SHARPNESS = 1.5  # pixels of the PNG for one on the page: sharp on most screens, quick to draw
_PAGE_DPI = 92


def bundle(figure: Figure, alt: str, *, note: str = "") -> tuple[dict[str, str], dict[str, Any]]:
    """(data, metadata) of a display message; the note stands in small print below the picture."""
    width, height = (round(inches * _PAGE_DPI) for inches in figure.get_size_inches())
    png = base64.b64encode(_png(figure)).decode("ascii")
    caption = f'<figcaption style="font-size:85%">{html.escape(note)}</figcaption>' if note else ""
    # In a narrow window the picture scrolls rather than shrink until nobody can read it.
    # decoding=sync: the new picture is there when the old one goes, so nothing flickers.
    markup = (
        f'<figure style="margin:0;overflow-x:auto"><img alt="{html.escape(alt)}" width="{width}" height="{height}" '
        f'decoding="sync" style="max-width:max(100%,34em);height:auto" src="data:image/png;base64,{png}">'
        f"{caption}</figure>"
    )
    size = {"width": width, "height": height, "alt": alt}
    return {"image/png": png, "text/html": markup, "text/plain": alt}, {"image/png": size}


def in_words(figure: Figure) -> str:
    """What a figure says of itself: its title, and each panel's title, labels and legend."""
    title = figure.get_suptitle()
    said = [title, *filter(None, map(_panel, figure.axes))]
    return ". ".join(filter(None, said)) + "." if any(said) else "A picture without a title."


def _panel(ax: Axes) -> str:
    """ "Test accuracy: y against x, showing tanh and sign"."""
    across, up = ax.get_xlabel(), ax.get_ylabel()
    labels = f"{up} against {across}" if up and across else f"over {across}" if across else up
    curves = ", ".join(text for text in ax.get_legend_handles_labels()[1])
    parts = [part for part in (labels, f"showing {curves}" if curves else "") if part]
    return ": ".join(filter(None, [ax.get_title(), ", ".join(parts)]))


def _png(figure: Figure) -> bytes:
    """The figure as a PNG, drawn once; savefig would lay it out and draw it twice."""
    figure.set_dpi(_PAGE_DPI * _SHARPNESS)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    buffer = io.BytesIO()
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    imsave(buffer, pixels, format="png", pil_kwargs={"compress_level": 3})
    return buffer.getvalue()
