"""The numbers of the matrix: how many verdicts are right, what gradcheck alone would say, which checks are needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.battery import checks_of
from grader.contract import CHECKS
from grader.exercise import Exercise
from grader.matrix.rows import Row

__all__ = ["Need", "Summary", "needs", "summary"]


@dataclass(frozen=True)
class Summary:
    """Counts over rows. `named` counts the exercises' own misconceptions whose id the diagnosis gives first."""

    right: int
    right_accepted: int
    wrong: int
    wrong_rejected: int
    own: int
    named: int
    peer_wrong: int
    peer_accepts: int


@dataclass(frozen=True)
class Need:
    """How many wrong implementations a check rejects, and how many only it rejects."""

    check: str
    rejects: int
    alone: int
    only: tuple[str, ...]


def summary(rows: Sequence[Row]) -> Summary:
    right, wrong = [r for r in rows if r.right], [r for r in rows if not r.right]
    own = [r for r in wrong if r.origin != "corpus"]
    peer = [r for r in wrong if r.gradcheck]
    return Summary(
        right=len(right),
        right_accepted=sum(r.as_it_should for r in right),
        wrong=len(wrong),
        wrong_rejected=sum(r.as_it_should for r in wrong),
        own=len(own),
        named=sum(r.diagnosis[:1] == (r.id,) for r in own),
        peer_wrong=len(peer),
        peer_accepts=sum(r.gradcheck == "accepts" for r in peer),
    )


def needs(rows: Iterable[Row], exercises: Iterable[Exercise]) -> list[Need]:
    """One entry per check that applies to any of the exercises, the battery's in the order they run, then their own."""
    applying = {check.id for exercise in exercises for check in checks_of(exercise)}
    ids = [c.id for c in CHECKS if c.id in applying]
    wrong = [r for r in rows if not r.right]
    found = []
    for id in [*ids, *sorted(applying - set(ids))]:
        alone = tuple(f"{r.exercise}:{r.id}" for r in wrong if r.rejected_by == (id,))
        found.append(Need(id, sum(id in r.rejected_by for r in wrong), len(alone), alone))
    return found
