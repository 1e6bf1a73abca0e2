"""Rules about a lesson's header and the form of its file."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from grader.lessons.folders import LESSON_NAME
from grader.lessons.rules.rule import Context, Faults, Rule
from grader.lessons.source import Lesson, written_form

__all__ = ["RULES"]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(_is_text(item) for item in value)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "title": (_is_text, "a text: the lesson's name for learners"),
    "minutes": (lambda value: type(value) is int and value > 0, "a whole number: the time it takes"),
    "prerequisites": (_is_texts, "a list of lesson names, `[]` for none"),
    "goals": (lambda value: _is_texts(value) and value, "a list of what the learner can do afterwards"),
}


def fields(lesson: Lesson, context: Context) -> Faults:
    """The header has title, minutes, prerequisites and goals, and nothing else."""
    for name, (good, meaning) in _FIELDS.items():
        if name not in lesson.course:
            yield 1, f"the header's `course:` lacks `{name}`: add {meaning}"
        elif not good(lesson.course[name]):
            yield _line_of(lesson, f"{name}:"), f"`{name}` is {lesson.course[name]!r}: write {meaning}"
    for name in lesson.course.keys() - _FIELDS.keys():
        yield _line_of(lesson, f"{name}:"), f"nothing reads `{name}`: remove it. Fields: {', '.join(_FIELDS)}"


def prerequisites(lesson: Lesson, context: Context) -> Faults:
    """Prerequisites are earlier lessons of the course."""
    wanted = lesson.course.get("prerequisites")
    for name in wanted if _is_texts(wanted) and wanted else []:
        if context.lessons and name not in context.lessons:
            yield _line_of(lesson, name), f"prerequisite '{name}' is no lesson: {', '.join(context.lessons)}"
        elif name >= lesson.name:
            yield (
                _line_of(lesson, name),
                f"prerequisite '{name}' comes after this lesson: name earlier ones only",
            )


def file_name(lesson: Lesson, context: Context) -> Faults:
    """The file is called NN_slug.py."""
    if not LESSON_NAME.fullmatch(lesson.name):
        yield (
            1,
            "a lesson's file is called like 02_relu.py: two digits, then small letters, digits, underscores",
        )


def jupytext_form(lesson: Lesson, context: Context) -> Faults:
    """Opening and saving the source in JupyterLab changes no byte of it."""
    own, other = lesson.text.split("\n"), written_form(lesson.text).split("\n")
    if own == other:
        return
    line = next(
        (i for i, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), min(len(own), len(other))
    )
    changes = list(difflib.unified_diff(own, other, lineterm="", n=0))[2:]
    shown = "".join(f"\n    {change}" for change in changes[:8])
    yield (
        line + 1,
        f"JupyterLab would save this file otherwise. Run `grader lint --fix {lesson.name}`: {shown}",
    )


def _line_of(lesson: Lesson, needle: str) -> int:
    lines = lesson.text.split("\n")[: lesson.cells[0].line]
    return next((number for number, line in enumerate(lines, start=1) if needle in line), 1)


RULES = (
    Rule("header-fields", fields),
    Rule("prerequisites", prerequisites),
    Rule("file-name", file_name),
    Rule("jupytext-form", jupytext_form),
)
