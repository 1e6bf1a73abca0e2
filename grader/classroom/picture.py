"""The picture of a mistake: drawn from what a verdict's record says of where the answer goes wrong.

A record is read as what anybody could have written. What goes into a page is checked here, whoever made it: shapes and
text only, no script and nothing from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from grader.where import Where
from grader.where.svg import drawings

__all__ = ["Picture", "picture"]

LONGEST = 150_000  # characters
SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    *("svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan"),
    *("title", "desc", "marker", "clipPath", "linearGradient", "stop", "pattern"),
}


@dataclass(frozen=True)
class Picture:
    """<svg> elements that can stand in a page side by side, and what they show in words."""

    panels: tuple[str, ...]
    alt: str


def picture(verdict: Mapping[str, Any]) -> Picture | None:
    """The picture of a verdict's record; None where it has none, or one that may not stand in a page."""
    if "where" not in verdict:
        return None
    try:
        return _drawn(Where.from_dict(verdict["where"]))
    except (ValueError, ArithmeticError, IndexError):  # no record of ours
        return None


@lru_cache(maxsize=256)
def _drawn(where: Where) -> Picture | None:
    panels = drawings(where)
    if not where.words or sum(map(len, panels)) > LONGEST or not all(map(harmless, panels)):
        return None
    return Picture(panels, where.words)


def harmless(svg: str) -> bool:
    """Whether a text is an <svg> element that does nothing but draw."""
    if "<!" in svg or "<?" in svg:  # no entities, which could make a small text a large one
        return False
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError:
        return False
    return root.tag.removeprefix(SVG) == "svg" and all(map(_plain, root.iter()))


def _plain(element: ElementTree.Element) -> bool:
    return element.tag.removeprefix(SVG) in SHAPES and all(map(_inside, element.items()))


def _inside(attribute: tuple[str, str]) -> bool:
    """Whether an attribute does nothing but draw: no handler, no link, no address other than #name of this page."""
    name, value = attribute[0].lower(), attribute[1].lower()
    return not name.startswith("on") and "href" not in name and "\\" not in value and _addresses(value) == 0


def _addresses(value: str) -> int:
    return value.count("url(") - value.count("url(#")
