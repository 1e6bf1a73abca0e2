"""The rules a lesson source is held to. Without those marked `build` no notebook can be built."""

from __future__ import annotations

from collections.abc import Iterable

from grader.lessons.rules import cells, code, exercises, header, prose
from grader.lessons.rules.rule import Context, ExerciseFacts, Problem, Rule
from grader.lessons.source import Lesson

__all__ = ["RULES", "Context", "ExerciseFacts", "Problem", "Rule", "apply", "build_problems"]

RULES: tuple[Rule, ...] = (*cells.RULES, *exercises.RULES, *header.RULES, *prose.RULES, *code.RULES)


def apply(rules: Iterable[Rule], lesson: Lesson, context: Context) -> list[Problem]:
    """All faults of `lesson` under `rules`, in the order of the file."""
    found = [
        Problem(rule.id, lesson.where(line), line, message)
        for rule in rules
        for line, message in rule.check(lesson, context)
    ]
    return sorted(found, key=lambda problem: problem.line)


def build_problems(lesson: Lesson) -> list[Problem]:
    """The faults that keep a notebook from being built."""
    return apply((rule for rule in RULES if rule.build), lesson, Context())
