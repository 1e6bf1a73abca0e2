"""What a battery draws, and the reference's answers to it, made once for all who are judged with the same seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from grader.contract.bench import Bench
    from grader.exercise import Exercise

__all__ = ["Memory", "memory_of", "once", "once_for_all"]

P = ParamSpec("P")
T = TypeVar("T")


class Memory:
    """Answers by question. A tuple of tensors counts as the same question only if it is the very one made here."""

    def __init__(self) -> None:
        self.answers: dict[tuple[Any, ...], Any] = {}
        self.made: dict[int, tuple[Any, ...]] = {}  # by id, and kept, so that no id is given away again

    def knows(self, given: tuple[Any, ...]) -> bool:
        return all(id(g) in self.made for g in given if isinstance(g, tuple))

    def keep(self, key: tuple[Any, ...], answer: Any) -> None:
        self.answers[key] = answer
        for made in (answer, *(getattr(item, "args", None) for item in answer)):
            if isinstance(made, tuple):
                self.made[id(made)] = made


@lru_cache(maxsize=64)  # one seed's exercises of the whole course
def memory_of(exercise: Exercise, _seed: int) -> Memory | None:
    """The memory of a battery; None where the reference itself draws random numbers, as then none may be left out."""
    return None if exercise.contract.random else Memory()


def once(method: Callable[Concatenate[Bench, P], T]) -> Callable[Concatenate[Bench, P], T]:
    """Decorator: a method of Bench whose tuple depends on what it is given, the exercise, the seed and the check alone.

    Nobody changes it: a subject works on copies.
    """
    return _remembered(method, by_check=True)


def once_for_all(method: Callable[Concatenate[Bench, P], T]) -> Callable[Concatenate[Bench, P], T]:
    """The same for a method that makes no difference between checks."""
    return _remembered(method, by_check=False)


def _remembered(method: Callable[Concatenate[Bench, P], T], *, by_check: bool) -> Callable[Concatenate[Bench, P], T]:
    @wraps(method)
    def remembered(bench: Bench, /, *given: P.args, **options: P.kwargs) -> T:
        memory = bench.memory
        if memory is None or not memory.knows(given):
            return method(bench, *given, **options)
        who = bench.check_id if by_check else None
        key = (method.__name__, who, *(id(g) if isinstance(g, tuple) else g for g in given), *options.items())
        if key not in memory.answers:
            memory.keep(key, method(bench, *given, **options))
        answer: T = memory.answers[key]
        return answer

    return remembered
