"""Answers as cells: the right one of a lesson, an exercise's variants and misconceptions, each able to
stand alone."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from types import ModuleType
from typing import Any

import nbformat

from grader.classroom.folder import ClassFolder
from grader.classroom.master import grade_id
from grader.exercise import Implementation
from grader.exercises import get

__all__ = ["definitions", "exercises_of", "right_answer", "standalone", "variant", "wrong_answer"]


def exercises_of(folder: ClassFolder, lesson: str) -> list[str]:
    """The exercises of a lesson, in order: the ids of its answer cells."""
    notebook = nbformat.read(folder.release(lesson), as_version=4)
    return [grade_id(c) for c in notebook.cells if grade_id(c) and c.metadata.nbgrader.get("solution")]


def right_answer(folder: ClassFolder, lesson: str, exercise: str) -> str:
    """The course's solution, without the marks around it."""
    notebook = nbformat.read(folder.source(lesson), as_version=4)
    source = next(cell.source for cell in notebook.cells if grade_id(cell) == exercise)
    kept = [line for line in source.splitlines() if not re.match(r"\s*### (BEGIN|END) SOLUTION", line)]
    return "\n".join(kept)


def variant(exercise: str, number: int) -> str | None:
    """The right variant with this number, the last one when there are fewer; None when there is none."""
    written = [v for v in get(exercise).variants if v.source is not None]
    return standalone(written[min(number, len(written) - 1)]) if written else None


def wrong_answer(exercise: str, misconception: str) -> str | None:
    """The answer of someone with this misconception; None where the exercise has no such one written out."""
    found = (m for m in get(exercise).misconceptions if m.id == misconception and m.source is not None)
    return next((standalone(m) for m in found), None)


def definitions(source: str) -> str:
    """What a cell imports and defines, without what it runs."""
    kept = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    return "\n".join(ast.unparse(node) for node in ast.parse(source).body if isinstance(node, kept))


def standalone(answer: Implementation) -> str:
    """The answer's source with what it takes from its module in front: imports, and helpers written out."""
    assert answer.source is not None
    front: dict[str, str] = {}
    _collect(answer.source, _space(answer.thing), front)
    imports = sorted({text for text in front.values() if text.startswith(("import ", "from "))})
    helpers = [text for text in front.values() if not text.startswith(("import ", "from "))]
    return "\n\n".join(filter(None, ["\n".join(imports), *helpers, answer.source.strip()]))


def _space(thing: Any) -> dict[str, Any]:
    """The names a class or function finds around it."""
    found = getattr(thing, "__globals__", None)
    return found if found is not None else vars(sys.modules[thing.__module__])


def _collect(source: str, space: dict[str, Any], front: dict[str, str]) -> None:
    """Add what `source` uses of `space` to `front`, each name after those it needs itself."""
    for name in sorted(_free(source)):
        value = space.get(name)
        if name in front or value is None:
            continue
        text = _import(name, value)
        if text is None:
            text = _written_out(name, value)
            _collect(text, _space(value) if inspect.isclass(value) or inspect.isfunction(value) else space, front)
        front[name] = text


def _free(source: str) -> set[str]:
    """Names a source reads and does not bind itself."""
    nodes = list(ast.walk(ast.parse(source)))
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {n.name for n in nodes if isinstance(n, ast.ClassDef | ast.FunctionDef)}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    return read - bound - set(dir(builtins))


def _import(name: str, value: Any) -> str | None:
    """How a notebook gets this name, None for what only our modules have."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__}" if value.__name__ == name else f"import {value.__name__} as {name}"
    home = getattr(value, "__module__", None) or ""
    if not home or home.startswith("grader") or name not in vars(sys.modules.get(home, builtins)):
        return None
    return f"from {home} import {name}"


def _written_out(name: str, value: Any) -> str:
    """A helper's source, or a constant as an assignment."""
    if inspect.isclass(value) or inspect.isfunction(value):
        return inspect.getsource(value).strip()
    return f"{name} = {value!r}"
