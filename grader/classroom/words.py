"""Numbers as people write them."""

from __future__ import annotations

__all__ = ["number"]


def number(value: float) -> str:
    """Points as people write them: 4, 2.5."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
