"""What `grader build` and `grader lint` print, and their exit codes: 0 all is well, 1 something to mend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from grader.lessons.compare import build_lessons, compare_lessons
from grader.lessons.folders import Folders, shown
from grader.lessons.lint import fix_lessons, lint_lessons
from grader.lessons.rules import RULES, ExerciseFacts

__all__ = ["report_build", "report_comparison", "report_lint", "report_rules"]


def report_build(
    lessons: Iterable[str],
    *,
    solutions: Path | None = None,
    notebooks: Path | None = None,
    force: bool = False,
) -> None:
    """Build, and name the notebooks that changed."""
    folders, wanted = Folders.of(solutions=solutions, notebooks=notebooks), tuple(lessons)
    written = build_lessons(folders, wanted, force=force)
    for path in written:
        click.echo(f"wrote {shown(path)}")
    if solutions is None and _outline_differs():
        from grader import outline

        outline.FILE.write_text(outline.written(), "utf-8")
        click.echo(f"wrote {shown(outline.FILE)}")
    total = len(folders.select(wanted))
    click.echo(f"{_counted(total, 'lesson')} built, {_counted(len(written), 'notebook')} changed")


def report_comparison(lessons: Iterable[str], *, solutions: Path | None = None, notebooks: Path | None = None) -> int:
    """Print how the notebooks differ from their sources; 1 if any does."""
    folders, wanted = Folders.of(solutions=solutions, notebooks=notebooks), tuple(lessons)
    differences = compare_lessons(folders, wanted)
    for difference in differences:
        click.echo(f"{difference}\n")
    outline = _outline_differs() if solutions is None else ""
    if outline:
        click.echo(f"{outline}\n")
    total = _counted(len(folders.select(wanted)), "lesson")
    stale = len(differences) + bool(outline)
    told = f"{_counted(stale, 'file')} to be mended" if stale else "all notebooks as built"
    click.echo(f"{total} compared, {told}")
    return 1 if stale else 0


def report_lint(
    lessons: Iterable[str],
    *,
    solutions: Path | None = None,
    notebooks: Path | None = None,
    fix: bool = False,
    exercises: bool = True,
) -> int:
    """Print every fault as `file:line: [rule] what and what to do`; 1 if there is any."""
    folders, wanted = Folders.of(solutions=solutions, notebooks=notebooks), tuple(lessons)
    for name in fix_lessons(folders, wanted) if fix else ():
        click.echo(f"rewrote {shown(folders.source(name))}")
    problems = lint_lessons(folders, wanted, exercises=_catalogue() if exercises else None)
    for problem in problems:
        click.echo(str(problem))
    total = _counted(len(folders.select(wanted)), "lesson")
    click.echo(f"{total} linted, {_counted(len(problems), 'problem')}")
    return 1 if problems else 0


def report_rules() -> None:
    """Print each rule's id and what it asks for."""
    width = max(len(rule.id) for rule in RULES)
    for rule in RULES:
        click.echo(f"{rule.id:{width}}  {rule.summary}")


def _outline_differs() -> str:
    """What is wrong with the course's outline, "" if nothing is."""
    from grader import outline

    if outline.FILE.is_file() and outline.FILE.read_text("utf-8") == outline.written():
        return ""
    return f"{shown(outline.FILE)} is not what the exercises say. Write it anew: grader build"


def _catalogue() -> Mapping[str, ExerciseFacts]:
    from grader.exercises import catalogue  # imports torch, which only this comparison needs

    return catalogue()


def _counted(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
