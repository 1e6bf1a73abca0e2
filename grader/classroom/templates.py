"""The templates in pages/, compiled once, with the filters they use. Everything they are given is escaped."""

from __future__ import annotations

import re
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from grader.classroom.highlight import coloured
from grader.classroom.words import number

__all__ = ["template"]


@cache
def template(name: str) -> Template:
    """A template of pages/ by its file's name."""
    return _pages().get_template(name)


@cache
def _pages() -> Environment:
    pages = Environment(
        loader=PackageLoader("grader.classroom", "pages"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    pages.filters.update(number=number, coloured=coloured, told=told, svg=Markup)
    return pages


ASIDES = re.compile(r" ((?:Likely cause|Where to look): )")


def told(text: str) -> Markup:
    """A finding's message: `code` as code, the likely cause and where to look on lines of their own, all escaped."""
    message, *asides = ASIDES.split(text)
    lines = [name + words for name, words in zip(asides[::2], asides[1::2], strict=True)]
    return Markup("").join([_code(message), *(Markup('<span class="hint">{}</span>').format(_code(x)) for x in lines)])


def _code(text: str) -> Markup:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # one mark too many: it stands for itself
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(pieces))
