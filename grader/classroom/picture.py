"""The picture of a mistake: what a verdict brings to be drawn in the student's page, if it does.

A verdict's JSON may hold `"picture": {"svg": "<svg ...>", "alt": "what it shows, in words"}`. What goes into a page is
checked here, whoever made it: shapes and text only, no script and nothing from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

__all__ = ["Picture", "picture"]

LONGEST = 60_000  # characters
SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {
    *("svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan"),
    *("title", "desc", "marker", "clipPath", "linearGradient", "stop", "pattern"),
}


@dataclass(frozen=True)
class Picture:
    """An <svg> element that can stand in a page, and what it shows in words."""

    svg: str
    alt: str


def picture(verdict: Mapping[str, Any]) -> Picture | None:
    """The picture that a verdict's JSON brings; None where it has none, or one that may not stand in a page."""
    told = verdict.get("picture")
    if not isinstance(told, Mapping):
        return None
    svg, alt = told.get("svg"), told.get("alt")
    if not (isinstance(svg, str) and isinstance(alt, str) and alt and len(svg) < LONGEST and _harmless(svg)):
        return None
    return Picture(svg, alt)


def _harmless(svg: str) -> bool:
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
