"""Hold lesson sources to the rules, and rewrite a source in the form JupyterLab saves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from grader.errors import GraderError
from grader.lessons.folders import Folders, write_whole
from grader.lessons.rules import RULES, Context, ExerciseFacts, Problem, apply
from grader.lessons.source import parse_lesson, written_form

__all__ = ["fix_lessons", "lint_lessons"]


def lint_lessons(
    folders: Folders,
    names: Iterable[str] = (),
    *,
    exercises: Mapping[str, ExerciseFacts] | None = None,
) -> list[Problem]:
    """All faults of the lessons `names` (none: of all), in course order.

    `exercises` is the catalogue the cells are compared with; None leaves those rules out. A source that
    cannot be read at all is one problem, `readable`. Raises GraderError for an unknown lesson.
    """
    context = Context(exercises=exercises, lessons=tuple(folders.names()), notebooks=folders.notebooks)
    problems: list[Problem] = []
    for name in folders.select(names):
        try:
            lesson = parse_lesson(folders.source(name))
        except GraderError as error:
            where, _, message = str(error).partition(": ")
            problems.append(Problem("readable", where, 1, message))
        else:
            problems += apply(RULES, lesson, context)
    return problems


def fix_lessons(folders: Folders, names: Iterable[str] = ()) -> list[str]:
    """Rewrite the lessons `names` (none: all) in Jupytext's own form; return the names of those that changed.

    Only layout changes: header order, blank lines, spelling of cell metadata. The cells stay as they are.
    """
    changed = []
    for name in folders.select(names):
        lesson = parse_lesson(folders.source(name))
        text = written_form(lesson.text)
        if text != lesson.text:
            write_whole(lesson.path, text)
            changed.append(name)
    return changed
