"""From what a learner typed to the exercise that is meant."""

from __future__ import annotations

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning.card import nearest

__all__ = ["exercise_named", "exercises", "lessons", "meant"]


def exercises() -> dict[str, Exercise]:
    """All exercises by id, in the course's order."""
    from grader.exercises import catalogue  # imports every lesson's exercises: only when asked for

    return catalogue()


def lessons() -> dict[str, list[Exercise]]:
    """The exercises by lesson, in the course's order."""
    found: dict[str, list[Exercise]] = {}
    for exercise in exercises().values():
        found.setdefault(exercise.lesson, []).append(exercise)
    return found


def exercise_named(name: object) -> Exercise:
    """The exercise with this id, or whose class or function this is (`MyReLU` or its name, for `relu`).

    Raises GraderError with the nearest ids for a name nobody knows.
    """
    known = exercises()
    wanted = name if isinstance(name, str) else getattr(name, "__name__", repr(name))
    if wanted in known:
        return known[wanted]
    for exercise in known.values():
        if wanted == exercise.symbol:
            return exercise
    near = nearest(wanted, [*known, *(exercise.symbol for exercise in known.values())])
    ids = list(dict.fromkeys(id if id in known else exercise_named(id).id for id in near))
    if ids:
        advice = f"Did you mean {' or '.join(f'`{id}`' for id in ids)}?"
    else:
        advice = "`progress()` lists the exercises and their ids."
    raise GraderError(f"There is no exercise called `{wanted}`. {advice}")


def meant(name: object) -> list[Exercise]:
    """The exercises of a lesson ("02_relu"), all of them ("all"), or the one exercise that goes by this name.

    Raises GraderError for a name nobody knows.
    """
    if name == "all":
        return list(exercises().values())
    by_lesson = lessons()
    if isinstance(name, str) and name in by_lesson:
        return by_lesson[name]
    return [exercise_named(name)]
