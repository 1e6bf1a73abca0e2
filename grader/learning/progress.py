"""`progress()`: what was passed, tried and not started; and `record_check`, which every check calls.

State is never stored, only events (see journal.py); standing.py works it out, dashboard.py draws it.
"""

from __future__ import annotations

import os
from typing import Any

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.attempts import fingerprint
from grader.learning.card import Card, message
from grader.learning.dashboard import dashboard, strip
from grader.learning.names import exercises, lessons, meant
from grader.learning.standing import Standing, next_step, standings

__all__ = ["Progress", "mark", "progress", "record_check", "take_stock"]


class Progress:
    """The whole picture: exercises by lesson, the standing of each, what to do next, and what could not be read."""

    def __init__(self, log: journal.Log) -> None:
        self.lessons = lessons()
        self.states = standings(log.events)
        self.next = next_step(self.lessons, self.states, log.events)
        self.problems = log.problems

    def of(self, exercise: Exercise) -> Standing:
        return self.states.get(exercise.id, Standing())


def take_stock() -> Progress:
    """Progress as the record has it now."""
    return Progress(journal.load())


def mark(kind: str, name: object) -> list[Exercise]:
    """Record a "reset" or an "undo" of an exercise, a lesson or "all"; GraderError for a name nobody knows."""
    found = meant(name)
    for exercise in found:
        journal.append({"kind": kind, "exercise": exercise.id})
    return found


def progress(lesson: str = "", *, reset: str = "", undo: str = "") -> Card:
    """Every lesson and exercise: passed, tried or not started, points, the last mistake, what to do next.

    lesson  only this one ("02_relu"), as a strip that follows the checks in the same notebook
    reset   an exercise ("relu"), a lesson ("02_relu") or "all", to start afresh; nothing is deleted
    undo    the same, to take its last reset back

    In a grading run it shows nothing.
    """
    if "GRADER_CLASS_SECRET" in os.environ:
        return Card("", "")
    try:
        for kind, name in (("reset", reset), ("undo", undo)):
            if name:
                mark(kind, name)
                _refresh()
    except GraderError as error:
        return message("Nothing was changed", [str(error)], mood="sorry")
    stock = take_stock()
    if lesson:
        return _strip(lesson, stock)
    notes = list(stock.problems)
    if reset:
        notes.insert(0, f'Reset `{reset}`. Take it back with `progress(undo="{reset}")`.')
    return dashboard(stock.lessons, stock.states, stock.next, notes)


def record_check(report: Any, thing: Any = None) -> None:
    """Remember the outcome of a check of `thing`. `report` has exercise, passed, points, out_of and diagnosis (ids).

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
            "code": fingerprint(thing),
        }
    )
    _refresh(str(report.exercise))


# ---- the strip at the top of a lesson --------------------------------------------------------------------------------

_shown: dict[str, str] = {}  # by lesson, the display id of the strip in this kernel's notebook


class _Strip(Card):
    """A card that is drawn again, in its old place, after each check."""

    def _ipython_display_(self) -> None:
        from IPython.display import display

        name = self.text.split(":")[0]
        handle = display(_plain(self), display_id=True)  # type: ignore[no-untyped-call]
        _shown[name] = handle.display_id


def _strip(name: str, stock: Progress) -> Card:
    found = [lesson for lesson in stock.lessons if lesson == name or lesson.split("_")[0] == name]
    if not found:
        return message(f"There is no lesson `{name}`", [f"Lessons: {', '.join(stock.lessons)}."], mood="sorry")
    card = strip(found[0], stock.lessons[found[0]], stock.states)
    return _Strip(card.text, card.html)


def _plain(card: Card) -> Card:
    return Card(card.text, card.html)


def _refresh(id: str = "") -> None:
    """Draw the strips of this notebook again, after a change to this exercise ("" for any)."""
    if not _shown:
        return
    from IPython.display import update_display

    stock = take_stock()
    changed = exercises()[id].lesson if id in exercises() else ""
    for lesson, display_id in _shown.items():
        if changed in ("", lesson):
            update_display(_plain(_strip(lesson, stock)), display_id=display_id)  # type: ignore[no-untyped-call]
