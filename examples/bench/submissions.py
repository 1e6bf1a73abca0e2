"""Classes of honest submissions to time: every answer is one of the course's own right or wrong ones, no two files
are equal, and the same number gives the same submission."""

from __future__ import annotations

import random
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.classroom.answers import exercises_of, right_answer, standalone
from grader.classroom.create import course_lessons, new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.master import grade_id
from grader.exercises import get

__all__ = ["LESSON", "lessons", "make_class"]

LESSON = "02_relu"


def lessons() -> dict[str, NotebookNode]:
    """The one lesson of the classes, as instructors have it."""
    return {LESSON: course_lessons()[LESSON]}


def make_class(root: Path, count: int) -> ClassFolder:
    """A new class in `root` with submissions of `count` students."""
    folder = new_class(root, lessons=lessons()).folder
    answers = {exercise: _answers(folder, exercise) for exercise in exercises_of(folder, LESSON)}
    release = nbformat.read(folder.release(LESSON), as_version=4)
    for number in range(count):
        student = f"student_{number:04d}"
        place = folder.submitted(student, LESSON)
        place.mkdir(parents=True)
        nbformat.write(_submission(release, answers, number), place / f"{LESSON}.ipynb")
    return folder


def _answers(folder: ClassFolder, exercise: str) -> list[str]:
    """Right answers and wrong ones, about as many of each."""
    known = get(exercise)
    right = [right_answer(folder, LESSON, exercise), *(standalone(v) for v in known.variants if v.source)]
    wrong = [standalone(m) for m in known.written_misconceptions if m.source]
    return [*right * max(1, len(wrong) // len(right)), *wrong]


def _submission(release: NotebookNode, answers: dict[str, list[str]], number: int) -> NotebookNode:
    chosen = random.Random(number)
    notebook: NotebookNode = nbformat.from_dict(release)
    for cell in notebook.cells:
        if grade_id(cell) in answers:
            cell.source = f"# attempt {number}\n{chosen.choice(answers[grade_id(cell)])}"
    return notebook
