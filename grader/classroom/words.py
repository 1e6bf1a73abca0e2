"""Numbers as people write them, and names as they shorten them."""

from __future__ import annotations

from collections.abc import Iterable

from grader.errors import GraderError

__all__ = ["number", "one_of"]


def number(value: float) -> str:
    """Points as people write them: 4, 2.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def one_of(word: str, known: Iterable[str], what: str) -> str:
    """The one of the known names that `word` is, or begins: 02 for 02_relu. GraderError where there is not just one."""
    names = sorted(known)
    found = [name for name in names if name == word] or [name for name in names if word and name.startswith(word)]
    if len(found) != 1:
        raise GraderError(f"there is no {what} {word!r}. There are: {', '.join(names) or 'none'}")
    return found[0]
