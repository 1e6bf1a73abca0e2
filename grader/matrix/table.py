"""The matrix as text for a terminal: a block per exercise, a numbered column per check that rejects something there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from grader.contract import CHECKS
from grader.matrix.rows import Row
from grader.matrix.summary import summary

__all__ = ["as_text", "columns", "headline", "verdict"]


def as_text(rows: Sequence[Row]) -> str:
    """Blocks of rows, then the numbers."""
    blocks = [_block(exercise, list(group)) for exercise, group in groupby(rows, key=lambda r: r.exercise)]
    return "\n\n".join([*blocks, headline(rows)])


def columns(rows: Iterable[Row]) -> list[str]:
    """The checks that reject any of the rows: the battery's in the order they run, then the exercise's own."""
    met = {check for row in rows for check in row.rejected_by}
    ids = [check.id for check in CHECKS if check.id in met]
    return [*ids, *sorted(met - set(ids))]


def verdict(row: Row) -> str:
    """One word for the verdict; in capitals where it is not as it should be."""
    word = "accepted" if row.accepted else "rejected"
    return word if row.as_it_should else word.upper()


def headline(rows: Sequence[Row]) -> str:
    """The numbers in four sentences."""
    s = summary(rows)
    return (
        f"Wrong implementations rejected: {s.wrong_rejected} of {s.wrong}. "
        f"Right implementations accepted: {s.right_accepted} of {s.right}. "
        f"Misconceptions diagnosed by their own name, first: {s.named} of {s.own}. "
        f"torch.autograd.gradcheck alone accepts {s.peer_accepts} of the {s.peer_wrong} wrong ones it can judge."
    )


def _block(exercise: str, rows: list[Row]) -> str:
    checks = columns(rows)
    width = max(len(r.id) for r in rows)
    legend = [f"  {number:>2} {check}" for number, check in enumerate(checks, 1)]
    numbers = "".join(f"{number:>3}" for number in range(1, len(checks) + 1))
    head = f"{exercise:<{width + 17}}{numbers}  gradcheck  diagnosis"
    return "\n".join([head, *(_line(row, checks, width) for row in rows), *legend])


def _line(row: Row, checks: list[str], width: int) -> str:
    marks = "".join("  x" if check in row.rejected_by else "  ." for check in checks)
    diagnosis = ", ".join(row.diagnosis[:1])
    return f"{verdict(row)} {row.origin:<7} {row.id:<{width}}{marks}  {row.gradcheck or '-':<9}  {diagnosis}".rstrip()
