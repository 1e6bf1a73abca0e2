"""What tells one attempt at an exercise from another: a short hash of the code that was handed to a check."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

__all__ = ["fingerprint"]


def fingerprint(thing: Any) -> str:
    """A hash of what a class or function does; "" for a thing without Python code of its own.

    Comments, layout and the names of local variables make no difference. Never raises: a class can be built so
    that the mere sight of it fails.
    """
    digest = hashlib.blake2b(digest_size=8)
    found = False
    try:
        for code in _codes(thing):
            _add(digest, code)
            found = True
    except Exception:  # whatever a learner's descriptors do
        return ""
    return digest.hexdigest() if found else ""


def _codes(thing: Any) -> Iterator[CodeType]:
    """The code of a function, or of a class's own methods in the order of their names."""
    members = [vars(thing)[name] for name in sorted(vars(thing))] if isinstance(thing, type) else [thing]
    for member in members:
        function = getattr(member, "__func__", member)
        function = getattr(function, "__wrapped__", function)  # once_differentiable and its like
        if isinstance(function, FunctionType):
            yield function.__code__


def _add(digest: Any, code: CodeType) -> None:
    digest.update(code.co_code + repr(code.co_names).encode())
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _add(digest, constant)
        else:
            digest.update(repr(constant).encode())
