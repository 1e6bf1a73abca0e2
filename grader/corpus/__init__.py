"""The corpus: right and wrong implementations of many operations, with the verdict each must get.

It tests the battery, it teaches nobody: the exercises here (`corpus/layernorm`, ...) cover operations that
the course does not ask for. They are in no catalogue, but `grader check corpus/layernorm FILE.py` runs them.
Cases of operations that the course does ask for are judged by the course's own exercises.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from functools import lru_cache

from grader.corpus.case import CASES, Case
from grader.errors import GraderError
from grader.exercise import Exercise, by_id

__all__ = ["Case", "cases", "exercises", "find"]


@lru_cache(maxsize=1)
def exercises() -> dict[str, Exercise]:
    """The exercises of the corpus by id, in the order of their modules."""
    modules = [importlib.import_module(name) for name in _modules("specs")]
    return by_id(exercise for module in modules for exercise in module.EXERCISES)


@lru_cache(maxsize=1)
def cases() -> tuple[Case, ...]:
    """Every case of the corpus, family by family."""
    for name in _modules("families"):
        importlib.import_module(name)
    return tuple(CASES)


def find(id: str) -> Exercise:
    """The exercise of the course or (`corpus/...`) of the corpus with this id; a GraderError where none is."""
    from grader.exercises import get

    if not id.startswith("corpus/"):
        return get(id)
    found = exercises().get(id)
    if found is None:
        near = difflib.get_close_matches(id, exercises(), n=3) or list(exercises())[:3]
        raise GraderError(f"there is no exercise {id!r} in the corpus. Did you mean {' or '.join(near)}?")
    return found


def _modules(folder: str) -> list[str]:
    package = importlib.import_module(f"grader.corpus.{folder}")
    return sorted(info.name for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
