"""Who needs a look, and why: from files that cannot be read down to cells that were mended."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from grader.classroom.outcome import Status
from grader.classroom.snapshot import Since
from grader.classroom.summary import ClassSummary, Entry, StudentRow
from grader.classroom.words import number

__all__ = ["Reason", "Urgency", "attention"]

STUCK = 3  # exercises with the same mistake
MOST_GONE = 0.5  # of the class handed a lesson in: who has not is named


class Urgency(IntEnum):
    """How soon."""

    NOW = 0  # no score, or one that cannot be trusted
    SOON = 1  # a person who could use a word
    KNOW = 2  # mended or odd, but graded


@dataclass(frozen=True)
class Reason:
    """lesson: "" for what is about all of them."""

    student: str
    lesson: str
    urgency: Urgency
    why: str


def attention(summary: ClassSummary, since: Since, median: float) -> list[Reason]:
    """Every reason, most pressing first. median: of the class's totals."""
    handed_in = Counter(e.lesson for row in summary.rows for e in row.entries if e.outcome.status is not Status.MISSING)
    common = {lesson for lesson, count in handed_in.items() if count >= MOST_GONE * len(summary.rows)}
    found = [reason for row in summary.rows for reason in _of_student(row, common, median, summary.out_of)]
    found += [
        Reason(
            c.student, c.lesson, Urgency.SOON, f"has fewer points than before: {number(c.before)}, now {number(c.now)}"
        )
        for c in since.changed
        if c.before is not None and c.now is not None and c.now < c.before
    ]
    return sorted(found, key=lambda reason: (reason.urgency, reason.student, reason.lesson))


def _of_student(row: StudentRow, common: set[str], median: float, out_of: float) -> Iterator[Reason]:
    for entry in row.entries:
        yield from _of_entry(row.student, entry)
    gone = [e.lesson for e in row.entries if e.outcome.status is Status.MISSING and e.lesson in common]
    if gone:
        yield Reason(row.student, "", Urgency.SOON, f"has not handed in {', '.join(gone)}, which most have")
    where: dict[str, list[str]] = defaultdict(list)
    for result in (result for entry in row.entries for result in entry.outcome.exercises):
        if result.diagnosis and not result.passed:
            where[result.diagnosis[0]].append(result.exercise)
    for id, exercises in where.items():
        if len(exercises) >= STUCK:
            why = f"the same mistake in {len(exercises)} exercises ({', '.join(exercises)}): {id.replace('_', ' ')}"
            yield Reason(row.student, "", Urgency.SOON, why)
    if 0.6 * out_of <= median and row.points < 0.5 * median and not gone:
        why = f"has {number(row.points)} of {number(out_of)} points; half of the class has {number(median)} or more"
        yield Reason(row.student, "", Urgency.SOON, why)


def _of_entry(student: str, entry: Entry) -> Iterator[Reason]:
    outcome = entry.outcome
    pressing = outcome.status in (Status.UNREADABLE, Status.LOOK)
    words = "; ".join(filter(None, [outcome.reason, *outcome.notes]))
    if words or pressing:
        yield Reason(student, entry.lesson, Urgency.NOW if pressing else Urgency.KNOW, words or str(outcome.status))
