"""A picture as a cell's output: a PNG, and HTML around the same PNG that carries the alt text.

JupyterLab and nbconvert show an `image/png` without any alt text, whatever the metadata says; both prefer HTML.
Viewers that know no HTML take the PNG, terminals the words.
"""

from __future__ import annotations

import base64
import html
import io
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave

if TYPE_CHECKING:
    from grader.learning.explorers.explorer import Picture

__all__ = ["bundle"]

_SHARPNESS = 1.5  # pixels of the PNG for one on the page: sharp on most screens, quick to draw
_PAGE_DPI = 92


def bundle(picture: Picture, *, note: str) -> tuple[dict[str, str], dict[str, Any]]:
    """(data, metadata) of a display message; the note stands in small print below the picture."""
    width, height = (round(inches * _PAGE_DPI) for inches in picture.figure.get_size_inches())
    png = base64.b64encode(_png(picture.figure)).decode("ascii")
    alt = html.escape(picture.alt)
    # In a narrow window the picture scrolls rather than shrink until nobody can read it.
    # decoding=sync: the new picture is there when the old one goes, so nothing flickers.
    markup = (
        f'<figure style="margin:0;overflow-x:auto"><img alt="{alt}" width="{width}" height="{height}" decoding="sync" '
        f'style="max-width:max(100%,34em);height:auto" src="data:image/png;base64,{png}">'
        f'<figcaption style="font-size:85%">{html.escape(note)}</figcaption></figure>'
    )
    size = {"width": width, "height": height, "alt": picture.alt}
    return {"image/png": png, "text/html": markup, "text/plain": picture.alt}, {"image/png": size}


def _png(figure: Figure) -> bytes:
    """The figure as a PNG, drawn once; savefig would lay it out and draw it twice."""
    figure.set_dpi(_PAGE_DPI * _SHARPNESS)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    buffer = io.BytesIO()
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    imsave(buffer, pixels, format="png", pil_kwargs={"compress_level": 3})
    return buffer.getvalue()
