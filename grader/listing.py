"""`grader exercises`: the catalogue as a table and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from grader.outline import Outline, outlines

__all__ = ["as_table", "entries"]


def entries() -> list[dict[str, Any]]:
    """One entry per exercise: id, symbol, lesson, title, kind, points, misconceptions (id and sentence)."""
    return [_entry(exercise) for exercise in outlines().values()]


def _entry(exercise: Outline) -> dict[str, Any]:
    return {
        "id": exercise.id,
        "symbol": exercise.symbol,
        "lesson": exercise.lesson,
        "title": exercise.title,
        "kind": exercise.kind,
        "points": exercise.points,
        "misconceptions": [{"id": id, "sentence": text} for id, text in exercise.mistakes.items()],
    }


def as_table() -> str:
    """The catalogue as a text table, as wide as the terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("lesson", "id", "symbol", "points", "mistakes"):
        table.add_column(
            column, justify="right" if column in ("points", "mistakes") else "left", no_wrap=True
        )
    for e in outlines().values():
        table.add_row(e.lesson, e.id, e.symbol, str(e.points), str(len(e.mistakes)))
    console = Console()
    with console.capture() as text:
        console.print(table)
    return text.get().rstrip()
