"""The rows of the matrix: which implementations there are, and what the battery and plain gradcheck say of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from grader import corpus
from grader.battery import PUBLIC_SEED, judge
from grader.exercise import Exercise
from grader.exercises import catalogue
from grader.local import LocalSubject
from grader.matrix.peer import Peer, gradcheck_alone

__all__ = ["Known", "Row", "all_exercises", "implementations", "judged", "matrix"]

Origin = Literal["variant", "written", "derived", "corpus"]


@dataclass(frozen=True)
class Known:
    """An implementation of known verdict.

    origin  a right variant or a written misconception of the exercise, one derived from its reference, or a corpus case
    """

    exercise: Exercise
    id: str
    origin: Origin
    right: bool
    thing: Any

    @property
    def name(self) -> str:
        return f"{self.exercise.id}:{self.id}"


@dataclass(frozen=True)
class Row:
    """What was said of one implementation.

    rejected_by  the checks that it failed, in the order they run; after a failed prerequisite the rest is not reached
    gradcheck    what torch.autograd.gradcheck alone says; "" where it does not apply
    diagnosis    ids of the misconceptions named, best first
    """

    exercise: str
    id: str
    origin: Origin
    right: bool
    accepted: bool
    rejected_by: tuple[str, ...]
    unjudged: tuple[str, ...]
    gradcheck: Peer
    diagnosis: tuple[str, ...]

    @property
    def as_it_should(self) -> bool:
        """Whether the verdict is right and no check had to be left out."""
        return self.accepted == self.right and not self.unjudged

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def all_exercises() -> dict[str, Exercise]:
    """The exercises of the course, then those of the corpus."""
    return {**catalogue(), **corpus.exercises()}


def implementations(exercise: Exercise) -> Iterator[Known]:
    """The right ones, then the wrong ones: of the exercise itself, then of the corpus."""
    cases = [case for case in corpus.cases() if case.exercise == exercise.id]
    for variant in exercise.variants:
        yield Known(exercise, variant.id, "variant", True, variant.thing)
    yield from (Known(exercise, case.name, "corpus", True, case.thing) for case in cases if case.right)
    written = len(exercise.written_misconceptions)
    for place, wrong in enumerate(exercise.misconceptions):
        yield Known(exercise, wrong.id, "written" if place < written else "derived", False, wrong.thing)
    yield from (Known(exercise, case.name, "corpus", False, case.thing) for case in cases if not case.right)


def judged(known: Known, seed: int = PUBLIC_SEED) -> Row:
    """Run the full battery, the diagnosis and plain gradcheck on one implementation."""
    report = judge(known.exercise, LocalSubject(known.thing), seed)
    return Row(
        exercise=known.exercise.id,
        id=known.id,
        origin=known.origin,
        right=known.right,
        accepted=report.passed,
        rejected_by=tuple(f.check for f in report.failed),
        unjudged=report.unjudged,
        gradcheck=gradcheck_alone(known.exercise, known.thing),
        diagnosis=report.diagnosis,
    )


def matrix(exercises: Iterable[Exercise], seed: int = PUBLIC_SEED) -> list[Row]:
    """A row for every implementation of the exercises."""
    return [judged(known, seed) for exercise in exercises for known in implementations(exercise)]
