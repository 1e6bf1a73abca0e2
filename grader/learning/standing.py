"""Where a learner stands: worked out anew from the journal's events, so that a reset can be undone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from grader.exercise import Exercise
from grader.learning import journal

__all__ = ["Standing", "next_step", "standing", "standings"]


@dataclass
class Standing:
    """Where a learner stands with one exercise, since its last reset.

    points     the best of all checks
    attempts   how many different answers were checked
    hints      how many different hints were seen; last_hint is the one seen last
    solution   the solution was looked at
    diagnosis  the mistake named by the last check, "" if it named none
    """

    tries: int = 0
    passed: bool = False
    points: float = 0.0
    hints: int = 0
    last_hint: int = 0
    solution: bool = False
    diagnosis: str = ""
    _codes: set[str] = field(default_factory=set, repr=False)

    @property
    def word(self) -> str:
        if self.passed:
            return "passed"
        return "tried" if self.tries else "not started"

    @property
    def attempts(self) -> int:
        return len(self._codes)

    def add(self, event: journal.Event) -> None:
        """Take one event into account."""
        if event["kind"] == "check":
            self.tries += 1
            self.passed = self.passed or event["passed"]
            self.points = max(self.points, float(event["points"]))
            named = event.get("diagnosis")
            self.diagnosis = str(named[0]) if isinstance(named, list) and named else ""
            self._codes |= {event["code"]} if event.get("code") else set()
        elif event["kind"] == "hint":
            self.last_hint = int(event["number"])
            self.hints = max(self.hints, self.last_hint)
        elif event["kind"] == "solution":
            self.solution = True


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


def next_step(
    lessons: dict[str, list[Exercise]], states: dict[str, Standing], events: list[journal.Event]
) -> Exercise | None:
    """The exercise to go on with: in the lesson last worked in, else the first of the course not passed yet."""
    lesson_of = {exercise.id: exercise.lesson for members in lessons.values() for exercise in members}
    work = [e["exercise"] for e in events if e["kind"] in ("check", "hint", "solution", "restore")]
    last = next((lesson_of[id] for id in reversed(work) if id in lesson_of), None)
    order = sorted(lessons, key=lambda lesson: lesson != last)
    todo = (e for lesson in order for e in lessons[lesson] if not states.get(e.id, Standing()).passed)
    return next(todo, None)
