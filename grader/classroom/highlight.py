"""Python code in colour: short class names whose colours stand in pages/code.css.j2, for light and dark."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

__all__ = ["coloured"]

_LEXER, _HTML = PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)


LONGEST = 6_000  # characters: colour costs two milliseconds a thousand, and no answer is as long


@lru_cache(maxsize=2000)  # many students leave a cell as it was given, or write the same
def coloured(source: str) -> Markup:
    """HTML of the code, escaped, to stand in a <pre>; what is very long stays plain."""
    if len(source) > LONGEST:
        return escape(source)
    return Markup(highlight(source, _LEXER, _HTML))
