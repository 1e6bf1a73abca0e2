"""`progress()`: what was passed, tried and not started; and `record_check`, which every check calls.

State is never stored, only events (see journal.py). It is worked out anew from them, so a reset can be
undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.card import Card, inline, message, note_html
from grader.learning.names import exercise_named, lessons

__all__ = ["Standing", "progress", "record_check", "standing", "standings"]


@dataclass
class Standing:
    """Where a learner stands with one exercise, since its last reset.

    points     the best of all checks
    hints      how many different hints were seen; last_hint is the one seen last
    diagnosis  the mistake named by the last check, "" if it named none
    """

    tries: int = 0
    passed: bool = False
    points: float = 0.0
    hints: int = 0
    last_hint: int = 0
    diagnosis: str = ""

    @property
    def word(self) -> str:
        if self.passed:
            return "passed"
        return "tried" if self.tries else "not started"

    def add(self, event: journal.Event) -> None:
        """Take one check or hint into account."""
        if event["kind"] == "check":
            self.tries += 1
            self.passed = self.passed or event["passed"]
            self.points = max(self.points, float(event["points"]))
            named = event.get("diagnosis")
            self.diagnosis = str(named[0]) if isinstance(named, list) and named else ""
        elif event["kind"] == "hint":
            self.last_hint = int(event["number"])
            self.hints = max(self.hints, self.last_hint)


def record_check(report: Any) -> None:
    """Remember the outcome of a check. `report` has exercise, passed, points, out_of and diagnosis (ids).

    One with `started` False (the exercise is not written yet) is no try and leaves no trace.
    Writes nothing to stderr and raises nothing about files: what cannot be written, the session remembers.
    """
    if not getattr(report, "started", True):
        return
    journal.append(
        {
            "kind": "check",
            "exercise": str(report.exercise),
            "passed": bool(report.passed),
            "points": float(report.points),
            "out_of": float(report.out_of),
            "diagnosis": [str(id) for id in report.diagnosis],
        }
    )


def standings(events: Iterable[journal.Event]) -> dict[str, Standing]:
    """The standing of each exercise in the events. A reset forgets, an undo takes the last reset back."""
    kept: dict[str, list[journal.Event]] = {}
    marks: dict[str, list[int]] = {}
    for event in events:
        id, kind = event["exercise"], event["kind"]
        own, starts = kept.setdefault(id, []), marks.setdefault(id, [0])
        if kind == "reset":
            starts.append(len(own))
        elif kind == "undo" and len(starts) > 1:
            starts.pop()
        else:
            own.append(event)
    result = {id: Standing() for id in kept}
    for id, own in kept.items():
        for event in own[marks[id][-1] :]:
            result[id].add(event)
    return result


def standing(id: str) -> Standing:
    """The standing of one exercise, read from the record."""
    return standings(journal.load().events).get(id, Standing())


def progress(*, reset: str = "", undo: str = "") -> Card:
    """Every lesson and exercise: passed, tried or not started, best points, hints used.

    reset   an exercise ("relu") or a lesson ("02_relu") to start afresh; nothing is deleted
    undo    the same, to take its last reset back
    """
    try:
        for kind, name in (("reset", reset), ("undo", undo)):
            for exercise in _meant(name) if name else ():
                journal.append({"kind": kind, "exercise": exercise.id})
    except GraderError as error:
        return message("Nothing was changed", [str(error)], mood="sorry")
    log = journal.load()
    notes = list(log.problems)
    if reset:
        notes.insert(0, f'Reset `{reset}`. Take it back with `progress(undo="{reset}")`.')
    return _table(standings(log.events), notes)


def _meant(name: object) -> list[Exercise]:
    """The exercises of a lesson, or the one exercise, that goes by this name."""
    by_lesson = lessons()
    if isinstance(name, str) and name in by_lesson:
        return by_lesson[name]
    return [exercise_named(name)]


def _table(states: dict[str, Standing], notes: list[str]) -> Card:
    rows, lines, got, total, done, count = [], [], 0.0, 0, 0, 0
    for lesson, members in lessons().items():
        own = [states.get(exercise.id, Standing()) for exercise in members]
        passed = sum(state.passed for state in own)
        heading = f"{lesson}: {passed} of {len(members)} passed"
        rows.append(f'<tr><th colspan="5" style="text-align:left">{inline(heading)}</th></tr>')
        lines += ["", heading]
        for exercise, state in zip(members, own, strict=True):
            rows.append(_row(exercise, state))
            lines.append(_line(exercise, state))
        got += sum(state.points for state in own)
        total += sum(exercise.points for exercise in members)
        done, count = done + passed, count + len(members)
    summary = f"{done} of {count} exercises passed, {got:g} of {total} points"
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in _COLUMNS)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return Card(
        text="\n".join([summary, *lines, *(["", *notes] if notes else [])]),
        html=f"<div><strong>{summary}</strong>{table}{note_html(notes)}</div>",
    )


_COLUMNS = ("Exercise", "Title", "State", "Points", "Hints used")
_MARK = {"passed": "✓", "tried": "○", "not started": "·"}


def _cells(exercise: Exercise, state: Standing) -> tuple[str, str, str, str, str]:
    word = f"{_MARK[state.word]} {state.word}"
    if state.tries and not state.passed:
        word += f" ({state.tries}×)" + (f", last: `{state.diagnosis}`" if state.diagnosis else "")
    points = f"{state.points:g} / {exercise.points}"
    return f"`{exercise.id}`", exercise.title, word, points, f"{state.hints} of {len(exercise.hints)}"


def _row(exercise: Exercise, state: Standing) -> str:
    cells = "".join(f'<td style="text-align:left">{inline(cell)}</td>' for cell in _cells(exercise, state))
    return f"<tr>{cells}</tr>"


def _line(exercise: Exercise, state: Standing) -> str:
    id, _, word, points, hints = (cell.replace("`", "") for cell in _cells(exercise, state))
    return f"  {id:<18} {points:>8} points   hints {hints:<8} {word}"
