"""The templates in pages/, compiled once, with the filters they use. Everything they are given is escaped."""

from __future__ import annotations

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


def told(text: str) -> Markup:
    """A sentence of ours with `code` in it; what a student wrote into it is escaped."""
    pieces = str(escape(text)).split("`")
    if len(pieces) % 2 == 0:  # one mark too many: no code to be seen
        return escape(text)
    marked = (f"<code>{piece}</code>" if index % 2 else piece for index, piece in enumerate(pieces))
    return Markup("".join(marked))  # noqa: S704 (escaped above)
