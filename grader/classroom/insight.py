"""What the report tells of a class, as numbers: how far it is, exercise by exercise, which mistakes, who needs a look.

Everything is counted in one pass over the submissions or over what such a pass has found.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.classroom.outcome import UNWRITTEN, ExerciseResult
from grader.classroom.summary import ClassSummary, Entry, StudentRow
from grader.classroom.teach import advice, general, phrase
from grader.outline import outlines

__all__ = [
    "KINDS",
    "ExerciseCount",
    "Group",
    "LessonCount",
    "Misconception",
    "Spread",
    "exercise_counts",
    "groups",
    "kind_of",
    "lesson_counts",
    "misconceptions",
    "results",
    "spread",
]

BINS = 10
KINDS = ("right", "partly", "wrong", "todo", "look")


def results(summary: ClassSummary) -> Iterator[tuple[StudentRow, Entry, ExerciseResult]]:
    """Every exercise of every submission."""
    for row in summary.rows:
        for entry in row.entries:
            for result in entry.outcome.exercises:
                yield row, entry, result


def kind_of(result: ExerciseResult) -> str:
    """right, partly, wrong, todo (never begun) or look (no verdict that counts)."""
    if result.passed:
        return "right"
    if result.doubtful:
        return "look"
    if result.problem == UNWRITTEN:
        return "todo"
    return "partly" if result.points > 0 else "wrong"


# ---- how far ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """How points are spread. bins: how many have 0 to 10 %, 10 to 20 %, ..., 90 to 100 % of `out_of`."""

    count: int
    out_of: float
    bins: list[int] = field(default_factory=list)
    mean: float = 0.0
    median: float = 0.0
    lower: float = 0.0
    upper: float = 0.0
    full: int = 0


def spread(points: list[float], out_of: float) -> Spread:
    """The spread of some points; the quartiles are those between which the middle half lies."""
    if not points or out_of <= 0:
        return Spread(len(points), out_of, [0] * BINS)
    bins = [0] * BINS
    for each in points:
        bins[min(BINS - 1, max(0, int(BINS * each / out_of + 1e-9)))] += 1
    lower, median, upper = statistics.quantiles(points, n=4, method="inclusive") if len(points) > 1 else points * 3
    full = sum(each >= out_of for each in points)
    return Spread(len(points), out_of, bins, statistics.fmean(points), median, lower, upper, full)


@dataclass(frozen=True)
class LessonCount:
    lesson: str
    spread: Spread
    missing: int


def lesson_counts(summary: ClassSummary) -> list[LessonCount]:
    """The spread of each lesson among those who have points in it."""
    points: dict[str, list[float]] = {lesson: [] for lesson in summary.lessons}
    for row in summary.rows:
        for entry in row.entries:
            if entry.points is not None:
                points[entry.lesson].append(entry.points)
    people = len(summary.rows)
    return [
        LessonCount(lesson, spread(points[lesson], out_of), people - len(points[lesson]))
        for lesson, out_of in summary.lessons.items()
    ]


@dataclass
class ExerciseCount:
    """How many of an exercise's submissions are of which kind (see kind_of)."""

    lesson: str
    exercise: str
    title: str
    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    @property
    def count(self) -> int:
        return sum(self.kinds.values())

    @property
    def rate(self) -> float:
        """Percent that are right."""
        return 100 * self.kinds["right"] / self.count if self.count else 0.0


def exercise_counts(summary: ClassSummary) -> list[ExerciseCount]:
    """One for each exercise that somebody handed in, in the order of the lessons."""
    known, found = outlines(), dict[tuple[str, str], ExerciseCount]()
    for _, entry, result in results(summary):
        key = entry.lesson, result.exercise
        if key not in found:
            title = known[result.exercise].title if result.exercise in known else result.exercise
            found[key] = ExerciseCount(*key, title)
        found[key].kinds[kind_of(result)] += 1
    order = {lesson: number for number, lesson in enumerate(summary.lessons)}
    return sorted(found.values(), key=lambda each: order[each.lesson])


# ---- which mistakes --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Misconception:
    """A mistake by its name, in all exercises that it turns up in.

    of         students who handed in one of these exercises
    students   student -> the first exercise where they show it
    exercises  exercise -> how many show it there
    """

    id: str
    phrase: str
    sentence: str
    teach: str
    of: int
    students: dict[str, str]
    exercises: dict[str, int]


def misconceptions(summary: ClassSummary) -> list[Misconception]:
    """The mistakes that have a name, most common first."""
    tried: dict[str, set[str]] = defaultdict(set)
    for row, _, result in results(summary):
        tried[result.exercise].add(row.student)
    found: dict[str, list[tuple[str, str, list[str]]]] = defaultdict(list)
    for mistake in summary.mistakes:
        if mistake.kind == "misconception":
            found[mistake.id].append((mistake.exercise, mistake.sentence, mistake.students))
    made = []
    for id, where in found.items():
        students = {student: name for name, _, each in reversed(where) for student in each}
        of = len(set().union(*(tried[name] for name, *_ in where)))
        counts = {name: len(each) for name, _, each in where}
        first, sentence, _ = where[0]  # where it is most common
        said = sentence if len(where) == 1 else general(id) or sentence
        made.append(Misconception(id, phrase(id), said, advice(id, first), of, dict(sorted(students.items())), counts))
    return sorted(made, key=lambda m: (-len(m.students), -sum(m.exercises.values()), m.id))


@dataclass(frozen=True)
class Group:
    """Answers that fail in the same way: the same checks, the same diagnosis. problem: why the first has no score."""

    lesson: str
    exercise: str
    diagnosis: tuple[str, ...]
    failed: tuple[str, ...]
    problem: str
    students: list[str]


def groups(summary: ClassSummary) -> list[Group]:
    """The wrong answers by how they fail, largest group first. What was never begun is no group."""
    found: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], Group] = {}
    for row, entry, result in results(summary):
        if kind_of(result) not in ("right", "todo"):
            key = entry.lesson, result.exercise, tuple(result.diagnosis), tuple(sorted(result.failed))
            group = found.setdefault(key, Group(*key, result.problem, []))
            group.students.append(row.student)
    return sorted(found.values(), key=lambda group: -len(group.students))
