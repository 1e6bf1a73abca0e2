"""Tries attacks: all in one class graded by `grader grade`, and each in a class of its own graded by nbgrader alone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import nbformat

from grader.attacks.attack import HONEST, LESSON, NEIGHBOUR, NEXT, Attack, submission
from grader.attacks.field import Marks, attacked_lessons, laid_out, listening
from grader.attacks.harm import done_by
from grader.attacks.stock import StockClass
from grader.classroom.answers import variant
from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.classroom.summary import ClassSummary
from grader.errors import GraderError
from grader.exercises import catalogue

__all__ = ["Tried", "ours", "stock"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tried:
    """What came of an attack in one of the two ways of grading.

    honest  points of the same submission without the attack
    points  None: it was not graded
    done    what else the attacker did, in words
    """

    honest: float
    points: float | None
    done: tuple[str, ...] = ()

    @property
    def undeserved(self) -> float:
        """The points that the attack brought."""
        return max(0.0, round((self.points or 0.0) - self.honest, 2))


def _people(attacks: Iterable[Attack]) -> dict[str, str]:
    """Each attack's student, so named that the neighbour is graded before all of them and the next one after."""
    return {attack.id: f"student_{attack.id}" for attack in attacks}


def _hand_in_honest(release: Path, place: Callable[[str], Path], exercises: Iterable[str]) -> None:
    """Two students with everything right, and the wrong answer to each of the exercises without an attack."""
    lesson = [exercise.id for exercise in catalogue().values() if exercise.lesson == LESSON]
    right = {id: text for id in lesson if (text := variant(id, 0))}
    known = {NEIGHBOUR: right, NEXT: right, **{f"honest_{id}": {id: HONEST[id]} for id in exercises}}
    for student, answers in known.items():
        place(student).mkdir(parents=True)
        nbformat.write(submission(release, answers), place(student) / f"{LESSON}.ipynb")


# ---- grader grade ----------------------------------------------------------------------------------------------------


def ours(attacks: Iterable[Attack], root: Path) -> tuple[dict[str, Tried], bool]:
    """Grade all attackers and the honest students in one class, made in `root`.

    What came of each, by id, and whether the honest ones have all their points.
    """
    attacks, marks = list(attacks), Marks()
    folder = new_class(root / "class", lessons=attacked_lessons(marks)).folder
    words = {folder.secret(): "the class's secret", marks.tests: "hidden tests", marks.private: "a private file"}
    people = _people(attacks)
    with listening() as server:
        field = laid_out(root, folder.root, marks, server.port)
        _hand_in_honest(
            folder.release(LESSON), lambda student: folder.submitted(student, LESSON), {a.exercise for a in attacks}
        )
        for attack in attacks:
            attack.hand_in(folder.release(LESSON), folder.submitted(people[attack.id], LESSON), field)
        points = _points(grade_class(folder.root))
        time.sleep(1.0)  # for what was left behind
    after = _points(_as_it_stands(folder))
    tried = {
        attack.id: Tried(
            points[f"honest_{attack.exercise}"] or 0.0,
            after[people[attack.id]],
            tuple(done_by(attack.id, people[attack.id], field, marks=words, visitors=server.visitors)),
        )
        for attack in attacks
    }
    full = sum(exercise.points for exercise in catalogue().values() if exercise.lesson == LESSON)
    return tried, after[NEIGHBOUR] == after[NEXT] == full


def _as_it_stands(folder: ClassFolder) -> ClassSummary:
    from grader.classroom.settings import load_config
    from grader.classroom.summary import summarise

    return summarise(folder, load_config(folder))


def _points(summary: ClassSummary) -> dict[str, float | None]:
    return {row.student: entry.points for row in summary.rows for entry in row.entries if entry.lesson == LESSON}


# ---- nbgrader alone --------------------------------------------------------------------------------------------------


def stock(attacks: Iterable[Attack], root: Path, *, at_once: int = 2, say: Say = lambda id: None) -> dict[str, Tried]:
    """Have nbgrader alone grade each attacker, in a copy of one class; `say` hears of each that is done."""
    attacks, marks = list(attacks), Marks()
    wanted = {attack.exercise for attack in attacks}
    template = StockClass.make(root / "template", attacked_lessons(marks))
    _hand_in_honest(template.release(LESSON), lambda student: template.submitted(student, LESSON), wanted)
    shutil.move(template.root / "submitted" / NEXT, template.root / NEXT)
    if not (ran := template.autograde(LESSON)).finished:
        raise GraderError(f"nbgrader could not grade the honest submissions:\n{ran.said[-2000:]}")
    honest = {id: sum(template.scores(LESSON)[f"honest_{id}"].values()) for id in wanted}
    with ThreadPoolExecutor(at_once) as pool, ExitStack() as held:
        held.callback(pool.shutdown, cancel_futures=True)
        one = partial(_alone, template, root, marks, honest, say)
        return dict(pool.map(one, attacks))


def _alone(
    template: StockClass, root: Path, marks: Marks, honest: dict[str, float], say: Say, attack: Attack
) -> tuple[str, Tried]:
    """Grade one attacker in a copy of the class."""
    student, place = _people([attack])[attack.id], root / attack.id
    klass = template.copied(place / "class")
    shutil.move(klass.root / NEXT, klass.root / "submitted" / NEXT)
    words = {marks.tests: "hidden tests", marks.private: "a private file"}
    with listening() as server:
        field = laid_out(place, klass.root, marks, server.port)
        attack.hand_in(klass.release(LESSON), klass.submitted(student, LESSON), field)
        ran = klass.autograde(LESSON, student, seconds=180.0)
        if "next" in attack.harms:
            klass.autograde(LESSON, NEXT, seconds=180.0)
        if "page" in attack.harms:
            klass.nbgrader("generate_feedback", LESSON, "--student", student, seconds=180.0)
        time.sleep(1.0)
    done = done_by(attack.id, student, field, marks=words, visitors=server.visitors)
    done += [] if ran.finished else ["run aborted"]
    points: float | None = None
    try:
        scores = {name: sum(each.values()) for name, each in klass.scores(LESSON).items()}
        points = scores.get(student)
        before = sum(template.scores(LESSON)[NEIGHBOUR].values())
        others = [NEIGHBOUR, *([NEXT] if "next" in attack.harms else [])]
        done += ["another student's marks changed"] * any(scores.get(name) != before for name in others)
    except GraderError:
        done.append("the gradebook was destroyed")
    shutil.rmtree(place, ignore_errors=True)
    say(attack.id)
    return attack.id, Tried(honest[attack.exercise], points, tuple(done))
