"""The catalogue: every exercise of the course, in lesson order. One module per lesson."""

from __future__ import annotations

import difflib
import importlib
from functools import lru_cache

from grader.errors import GraderError
from grader.exercise import Exercise, by_id

__all__ = ["LESSON_MODULES", "catalogue", "get"]

LESSON_MODULES = ("start_here", "contract", "relu", "straight_through", "gradcheck")


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Exercise]:
    """Every exercise by id, in the order of the lessons."""
    modules = [importlib.import_module(f"grader.exercises.{name}") for name in LESSON_MODULES]
    return by_id(exercise for module in modules for exercise in module.EXERCISES)


def get(id: str) -> Exercise:
    """The exercise with this id; a GraderError names the nearest ids where there is none."""
    found = catalogue().get(id) if isinstance(id, str) else None
    if found is None:
        near = difflib.get_close_matches(str(id), catalogue(), n=3) or list(catalogue())[:3]
        raise GraderError(
            f"there is no exercise {id!r}. Did you mean {' or '.join(near)}? All ids: grader exercises"
        )
    return found
