"""nbconvert's HTML, byte for byte, but what was drawn before is not drawn again.

Most cells are the same in all submissions of a lesson. nbconvert highlights them anew for each page, and then
parses and prints the whole page once more (BeautifulSoup), which takes most of the time. Here each cell goes
through that last step as one empty tag and is put in its place at the end, as BeautifulSoup prints it by
itself. A cell that is not well nested, so that the page around it could read otherwise, goes through as it is.
"""

from __future__ import annotations

import re
import secrets
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from typing import Any

from bs4 import BeautifulSoup
from jinja2 import pass_context
from nbconvert.exporters import HTMLExporter
from nbconvert.filters import Highlight2HTML
from nbformat import NotebookNode
from traitlets import Unicode

__all__ = ["QuickHTML", "draws_as_usual"]

REMEMBERED = 1000  # pieces of text, some kilobytes each
LONGEST = 30_000  # characters: what is longer is some student's output or picture, not seen again
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")  # no end tag
SPECIAL = re.compile(r"<!|<\?|<(?:script|style|textarea|title|plaintext|xmp|iframe|noscript|noembed)\b|jp-", re.I)


TEMPLATE = "{%- extends 'index.html.j2' -%}{% block any_cell scoped %}{{ super() | piece }}{% endblock any_cell %}"


class QuickHTML(HTMLExporter):
    """HTMLExporter for many pages of the same lessons. It reads HTMLExporter's settings."""

    raw_template = Unicode(TEMPLATE)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        token = secrets.token_hex(8)  # nobody's text can hold it
        self._tag = f'<piece-{token} number="{{}}"></piece-{token}>'
        self._place = re.compile(re.escape(self._tag).replace(r"\{\}", r"(\d+)"))
        self._pieces: list[str] = []  # of the page in hand, as they are printed
        self._lexer: str | None = None
        self._print = lru_cache(REMEMBERED)(_printed)
        self._code = lru_cache(REMEMBERED)(self._draw_code)
        self._prose = lru_cache(REMEMBERED)(self._draw_prose)
        super().__init__(*args, **kwargs)  # type: ignore[no-untyped-call]
        self.filters = {"highlight_code": self._highlight}

    def default_filters(self) -> Any:
        """nbconvert's, with one of ours in the place of theirs and one more."""
        yield from super().default_filters()  # type: ignore[no-untyped-call]
        yield "markdown2html", self._markdown
        yield "piece", self._piece

    def from_notebook_node(  # type: ignore[override] # as HTMLExporter itself
        self, nb: NotebookNode, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        """The page of a notebook."""
        language = nb.metadata.get("language_info", {})
        self._lexer = language.get("pygments_lexer", language.get("name"))
        self._pieces.clear()
        self._nb_metadata.clear()  # else kept for every notebook ever drawn
        page, resources = super().from_notebook_node(nb, resources, **kw)
        return self._place.sub(lambda found: self._pieces[int(found[1])], page), resources

    def _highlight(self, source: str, language: str | None = None, metadata: Any = None) -> str:
        draw = self._code if len(source) < LONGEST else self._draw_code
        return draw(source, self._lexer, language, metadata.get("magics_language") if metadata else None)

    def _draw_code(self, source: str, lexer: str | None, language: str | None, magics: str | None) -> str:
        metadata = {"magics_language": magics} if magics else None
        return str(Highlight2HTML(pygments_lexer=lexer, parent=self)(source, language=language, metadata=metadata))

    @pass_context
    def _markdown(self, context: Any, source: str) -> str:
        own = self.embed_images or context.get("cell", {}).get("attachments")
        if own or len(source) >= LONGEST:
            return str(super().markdown2html(context, source))
        return self._prose(source)

    def _draw_prose(self, source: str) -> str:
        return str(super().markdown2html({}, source))

    def _piece(self, html: str) -> str:
        """What stands for a cell in the page until its end."""
        body = html.strip()
        printed = self._print(body) if len(body) < LONGEST else _printed(body)
        if printed is None:
            return html
        self._pieces.append(printed)
        start = html.index(body)
        return html[:start] + self._tag.format(len(self._pieces) - 1) + html[start + len(body) :]


SECTIONS = ("Exporter", "TemplateExporter", "HTMLExporter")
CHANGING = ("template_name", "template_file", "raw_template", "extra_template_basedirs", "filters", "sanitize_html")


def draws_as_usual(exporter: type, config: Any) -> bool:
    """Whether pages are drawn by nbgrader's own template, so that QuickHTML draws the same."""
    return exporter is HTMLExporter and not any(name in config[part] for part in SECTIONS for name in CHANGING)


def _printed(html: str) -> str | None:
    """How a piece is printed in a finished page; None when it has to go through the page itself."""
    if SPECIAL.search(html):
        return None
    plain = _plainly_printed(html)
    if plain is not None or not _nested(html):
        return plain
    soup = BeautifulSoup(html, features="html.parser")
    for image in soup.select("img:not([alt])"):
        image.attrs["alt"] = "No description has been provided for this image"
    return str(soup)


NAMES = "class|href|id|name|style|tabindex|data-[a-z-]+"
TOKEN = re.compile(rf"""<(/?)([a-z][a-z0-9]*)((?: +(?:{NAMES})="[^"&<>]*")*) *>|([^<>]+)""")
ATTRIBUTE = re.compile('([a-z-]+)="([^"]*)"')
ENTITY = re.compile("&(amp|lt|gt|quot|nbsp|#39|#1[6-9][0-9]|#[2-9][0-9]{2}|#[1-9][0-9]{3,4});")
ODD = re.compile(f"(?!{ENTITY.pattern})&")
SPACES = "\n\t\x0c\r "


def _plainly_printed(html: str) -> str | None:
    """The same for plain HTML, which most code cells are, without BeautifulSoup; None for any other.

    It prints attributes sorted and no other quotes than it must, and of white space between tags one character.
    """
    printed: list[str] = []
    stack: list[str] = []
    end = 0
    for token in TOKEN.finditer(html):
        closing, tag, attributes, text = token.groups()
        if token.start() != end or (text and not stack):
            return None
        end = token.end()
        if text:
            if ODD.search(text):
                return None
            printed.append(_text(text, stack))
        elif VOID.fullmatch(tag) or (closing and (attributes or not stack or stack.pop() != tag)):
            return None
        elif closing:
            printed.append(f"</{tag}>")
        else:
            stack.append(tag)
            printed.append(f"<{tag}{_attributes(attributes)}>" if attributes else f"<{tag}>")
    return None if stack or end != len(html) else "".join(printed)


def _text(text: str, inside: list[str]) -> str:
    if not text.strip(SPACES) and "pre" not in inside:
        return "\n" if "\n" in text else " "
    return ENTITY.sub(_entity, text)


def _entity(found: re.Match[str]) -> str:
    """BeautifulSoup writes only & < and > as entities."""
    return found[0] if found[1] in ("amp", "lt", "gt") else unescape(found[0])


def _attributes(text: str) -> str:
    found = {name: " ".join(value.split()) if name == "class" else value for name, value in ATTRIBUTE.findall(text)}
    return "".join(f' {name}="{value}"' for name, value in sorted(found.items()))


class _Nesting(HTMLParser):
    """Follows the tags of a piece."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[str] = []
        self.good = True
        self.outside = False  # the last thing was text outside of all tags, which could run into the page's own

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.outside = False
        if not VOID.fullmatch(tag):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.outside = False
        self.good = self.good and VOID.fullmatch(tag) is not None

    def handle_endtag(self, tag: str) -> None:
        self.outside = False
        if not self.open or self.open.pop() != tag:
            self.good = False

    def handle_data(self, data: str) -> None:
        self.outside = not self.open

    def handle_entityref(self, name: str) -> None:
        self.handle_data(name)

    def handle_charref(self, name: str) -> None:
        self.handle_data(name)


def _nested(html: str) -> bool:
    """Whether a piece begins and ends with a tag, and closes every tag in the order in which it opened them."""
    parser = _Nesting()
    parser.feed(html)
    parser.close()
    return re.match("<[a-zA-Z]", html) is not None and parser.good and not parser.open and not parser.outside
