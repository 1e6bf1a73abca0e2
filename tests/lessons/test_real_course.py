"""The real lessons: what is committed is what is built, it leaks nothing, and the rules hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.exercises import catalogue
from grader.lessons import Folders, build_release, notebook_text, read_lesson
from grader.lessons.compare import compare_lessons
from grader.lessons.lint import lint_lessons
from grader.lessons.regions import HIDDEN, find_regions

_COURSE = Path(__file__).parents[2]
_SOURCES = sorted(path for path in (_COURSE / "solutions").glob("*.py") if not path.stem.startswith("_"))
_FOLDERS = Folders(_COURSE / "solutions", _COURSE / "notebooks")

pytestmark = pytest.mark.skipif(not _SOURCES, reason="the course has no lessons yet")
each_lesson = pytest.mark.parametrize("source", _SOURCES, ids=lambda path: path.stem)


def test_no_notebook_is_stale_missing_or_left_over() -> None:
    assert [str(difference) for difference in compare_lessons(_FOLDERS)] == []


@each_lesson
def test_notebook_is_what_is_built(source: Path) -> None:
    committed = _FOLDERS.notebook(source.stem).read_bytes().decode("utf-8")
    assert committed == notebook_text(build_release(source)), f"run: grader build {source.stem}"


@each_lesson
def test_rules_hold(source: Path) -> None:
    problems = lint_lessons(_FOLDERS, [source.stem], exercises=catalogue())
    assert [str(problem) for problem in problems] == []


def test_every_exercise_of_a_written_lesson_is_asked_once() -> None:
    asked = [
        cell.metadata.nbgrader.grade_id
        for source in _SOURCES
        for cell in read_lesson(source).cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    ]
    written = {source.stem for source in _SOURCES}
    assert sorted(asked) == sorted(each.id for each in catalogue().values() if each.lesson in written)


@each_lesson
def test_no_solution_and_no_hidden_test_in_the_notebook(source: Path) -> None:
    text = _FOLDERS.notebook(source.stem).read_text(encoding="utf-8")
    notebook = json.loads(text)
    released = {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
    everything = "\n".join(_flat(cell) for cell in released.values())
    for cell in read_lesson(source).cells:
        for region in find_regions(cell.source):
            lines = {line.strip() for line in region.lines if line.strip()}
            elsewhere = {line.strip() for line in _outside_regions(cell.source)}
            shown = {line.strip() for line in released[cell.id].split("\n")}
            assert not (lines - elsewhere) & shown, cell.id
            if region.kind == HIDDEN or len(lines) > 1:  # one line, like `return x`, may stand in an example
                assert _flat("\n".join(region.lines)) not in everything, cell.id
    assert "grader.hidden" not in text


def _flat(source: str) -> str:
    return "\n".join(line.strip() for line in source.split("\n") if line.strip())


def _outside_regions(source: str) -> list[str]:
    inside = {i for region in find_regions(source) for i in range(region.begin, region.end + 1)}
    return [line for index, line in enumerate(source.split("\n")) if index not in inside]
