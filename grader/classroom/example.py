"""A sample class: submissions as students hand them in, made from the course's own misconceptions and right
variants.

Nothing in here is an answer or a score: answers come from the lessons and exercises, so the class follows
them, and the score of each submission can be predicted by grading the answers one by one (`predicted`).
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from grader import exercises
from grader.classroom import mishaps
from grader.classroom.answers import definitions, exercises_of, right_answer, variant, wrong_answer
from grader.classroom.folder import ClassFolder
from grader.classroom.master import grade_id
from grader.errors import GraderError
from grader.hidden import grade

__all__ = ["PEOPLE", "Person", "fill", "predicted"]

Mishap = Callable[[NotebookNode, Path], None]


@dataclass(frozen=True)
class Person:
    """One student.

    style      None: the lessons' own solutions; a number: that right variant of each exercise, where there
               are several
    habits     misconceptions: every exercise that has one of them is answered with it (the first listed
               counts)
    share      of each lesson's exercises, how many were done; the others are left untouched
    skips      lessons that were not handed in, by number
    mishaps    what happened to the file, by number of the lesson
    costs      exercises whose points a mishap takes, by number of the lesson
    """

    name: str
    style: int | None = None
    habits: tuple[str, ...] = ()
    share: float = 1.0
    skips: tuple[int, ...] = ()
    mishaps: dict[int, Mishap] = field(default_factory=dict)
    costs: dict[int, tuple[int, ...]] = field(default_factory=dict)


PEOPLE = (
    Person("amara_okafor"),
    Person("jonas_lindqvist", style=0),
    Person("mei_tanaka", style=1),
    Person("luca_moretti", habits=("no_upstream", "ones_upstream")),
    Person("priya_raman", habits=("kept_on_ctx", "output_on_ctx", "saves_input", "saves_sigmoid")),
    Person(
        "noah_becker",
        habits=(
            "doubled_in_place",
            "in_place_mask",
            "in_place_scale",
            "writes_into_upstream",
            "in_place_window",
        ),
    ),
    Person(
        "sofia_castro",
        habits=("missing_none", "one_value_returned", "missing_nones", "bias_none_changes_count", "clips_gradient"),
    ),
    Person(
        "oskar_nowak",
        habits=("mask_inverted", "clips_gradient", "zeros", "swapped", "missing_transposes"),
        skips=(4,),
    ),
    Person("tomas_novak", style=0, habits=("missing_none", "full_jacobian"), share=0.5),
    Person("ingrid_dahl", share=0.0),
    Person("kwame_mensah", style=1, mishaps={2: mishaps.copied_test, 3: mishaps.copied_answer}),
    Person("hana_kim", style=0, mishaps={1: mishaps.renamed("{lesson} (1)"), 2: mishaps.renamed("relu_final")}),
    Person("diego_santos", mishaps={2: mishaps.crash, 3: mishaps.sys_exit}, costs={2: (1,)}),
    Person("elena_petrova", mishaps={2: mishaps.endless_loop}, costs={2: (1,)}, habits=("full_jacobian",)),
    Person(
        "yusuf_demir",
        mishaps={1: mishaps.deleted_test, 2: mishaps.lost_metadata, 3: mishaps.turned_to_markdown},
    ),
    Person(
        "chloe_martin", habits=("mask_by_gradient", "no_upstream"), mishaps={3: mishaps.cut_off, 4: mishaps.emptied}
    ),
    Person("ruth_adeyemi", mishaps={1: mishaps.warns, 2: mishaps.waits_for_input, 3: mishaps.prints_a_lot}),
)


def fill(folder: ClassFolder) -> list[str]:
    """Write everyone's submissions into the class, over earlier ones of theirs. Returns their names."""
    for person in PEOPLE:
        for lesson in folder.lessons():
            if _number(lesson) not in person.skips:
                _hand_in(folder, person, lesson)
    return [person.name for person in PEOPLE]


def _hand_in(folder: ClassFolder, person: Person, lesson: str) -> None:
    notebook = nbformat.read(folder.release(lesson), as_version=4)
    given = answers(folder, person, lesson)
    for cell in notebook.cells:
        if grade_id(cell) in given:
            cell.source = given[grade_id(cell)]
    place = folder.submitted(person.name, lesson)
    place.mkdir(parents=True, exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    mishap = person.mishaps.get(_number(lesson), mishaps.none)
    mishap(notebook, place / f"{lesson}.ipynb")


def answers(folder: ClassFolder, person: Person, lesson: str) -> dict[str, str]:
    """What the person wrote into the lesson's answer cells, by exercise; untouched ones are left out."""
    done = exercises_of(folder, lesson)
    done = done[: round(person.share * len(done))]
    return {name: _answer(folder, person, lesson, name) for name in done}


def _answer(folder: ClassFolder, person: Person, lesson: str, exercise: str) -> str:
    for habit in person.habits:
        wrong = wrong_answer(exercise, habit)
        if wrong is not None:
            return wrong
    other = None if person.style is None else variant(exercise, person.style)
    return right_answer(folder, lesson, exercise) if other is None else other


def predicted(folder: ClassFolder, person: Person, lesson: str) -> dict[str, float]:
    """The points each exercise of a submission must get: its answer, graded in this process with the
    class's secret.

    Answers are taken in the order of the lesson, among the lesson's own definitions: some build on earlier
    ones.
    """
    notebook = nbformat.read(folder.release(lesson), as_version=4)
    given, lost = answers(folder, person, lesson), _lost(folder, person, lesson)
    space: dict[str, Any] = {"__name__": "__main__"}
    points: dict[str, float] = {}
    for cell in notebook.cells:
        name = grade_id(cell)
        if cell.cell_type != "code" or (name and not cell.metadata.nbgrader.get("solution")):
            continue
        if not name:
            exec(definitions(cell.source), space)
        elif name in given and name not in lost:
            exec(compile(given[name], f"<{name}>", "exec"), space)
            points[name] = _graded(name, space, folder.secret())
        else:
            points[name] = 0.0
    return points


def _lost(folder: ClassFolder, person: Person, lesson: str) -> set[str]:
    names = exercises_of(folder, lesson)
    return {names[place] for place in person.costs.get(_number(lesson), ())}


def _graded(exercise: str, space: dict[str, Any], secret: str) -> float:
    """The points of one answer, by the same battery that the hidden test uses."""
    with _secret(secret), contextlib.redirect_stdout(io.StringIO()):
        return grade(exercise, space[exercises.get(exercise).symbol])


@contextlib.contextmanager
def _secret(secret: str) -> Iterator[None]:
    before = os.environ.get("GRADER_CLASS_SECRET")
    os.environ["GRADER_CLASS_SECRET"] = secret
    try:
        yield
    finally:
        os.environ.pop("GRADER_CLASS_SECRET")
        if before is not None:
            os.environ["GRADER_CLASS_SECRET"] = before


def _number(lesson: str) -> int:
    try:
        return int(lesson.partition("_")[0])
    except ValueError:
        raise GraderError(
            f"the sample class is for the course's lessons, whose names begin with a number: {lesson}"
        ) from None
