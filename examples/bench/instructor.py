"""How long an instructor waits: the same class by nbgrader alone, by `grader grade`, and by nothing but its cells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from limit import limit
from memory import Memory, megabytes
from rich.table import Table
from submissions import LESSON, lessons, make_class

from grader.attacks.stock import StockClass, scores
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import course_id
from grader.classroom.settings import load_config

__all__ = ["Plan", "growth", "side_by_side"]

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to time.

    count  submissions in the class        jobs   submissions at a time with `grader grade`
    stock  how many of them nbgrader alone grades, the time of the others being extrapolated; 0: none
    """

    count: int = 60
    jobs: int = 2
    stock: int = 60


@dataclass(frozen=True)
class Timed:
    seconds: float
    memory: Memory | None = None


def side_by_side(plan: Plan, root: Path, say: Say) -> tuple[Table, list[str]]:
    """The table of the ways to grade one class, and what else there is to say about it."""
    folder = make_class(root / "ours", plan.count)
    say("warming the file cache ...")
    _ours(make_class(root / "first", 2), plan.jobs)
    alone, klass = _alone(plan, folder, root, say) if plan.stock else ({}, None)
    say(f"grader grade --jobs {plan.jobs}: {plan.count} submissions ...")
    mine = _ours(folder, plan.jobs)
    say("the limit, in one process and in two ...")
    limits = {processes: limit(folder, processes) for processes in (1, 2)}

    columns = ("", "seconds", "each [s]", "grader grade is", "peak memory", "largest process")
    table = Table(*columns, title=f"{plan.count} submissions of {LESSON}")
    for command, timed in alone.items():
        table.add_row(command, *_row(timed, plan.count, f"{timed.seconds / mine.seconds:.1f} × as fast"))
    table.add_row(f"grader grade --jobs {plan.jobs} (both in one)", *_row(mine, plan.count, ""))
    for processes, taken in limits.items():
        words = f"the limit in {processes} process{'es' * (processes > 1)}"
        table.add_row(words, *_row(Timed(taken), plan.count, f"{mine.seconds / taken:.2f} × as long"))
    return table, [*_compared(plan, folder, klass)]


def _row(timed: Timed, count: int, ratio: str) -> tuple[str, ...]:
    memory = timed.memory
    sizes = ("", "") if memory is None else (megabytes(memory.total), megabytes(memory.largest))
    return f"{timed.seconds:.1f}", f"{timed.seconds / count:.3f}", ratio, *sizes


def _ours(folder: ClassFolder, jobs: int) -> Timed:
    env = dict(os.environ, OMP_NUM_THREADS="1")
    with Memory() as memory:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "grader", "grade", str(folder.root), "--jobs", str(jobs)],
            env=env,
            check=True,
            capture_output=True,
        )
        seconds = time.perf_counter() - start
    return Timed(seconds, memory)


def _alone(plan: Plan, folder: ClassFolder, root: Path, say: Say) -> tuple[dict[str, Timed], StockClass]:
    """nbgrader's own commands over the same submissions with the same seeds, one after another as they do."""
    klass = StockClass.make(root / "stock", lessons())
    students = folder.students()
    shutil.copytree(folder.submitted(students[0], LESSON), klass.submitted("student_first", LESSON))
    klass.autograde(LESSON)  # makes the gradebook, warms the cache
    shutil.rmtree(klass.submitted("student_first", LESSON).parent)
    for student in students[: plan.stock]:
        shutil.copytree(folder.submitted(student, LESSON), klass.submitted(student, LESSON))
    say(f"nbgrader autograde: {plan.stock} submissions, one after another ...")
    with Memory() as memory:
        ran = klass.autograde(LESSON, secret=folder.secret())
    pages = klass.nbgrader("generate_feedback", LESSON, seconds=3600.0)
    share = plan.count / plan.stock
    both = Timed((ran.seconds + pages.seconds) * share, memory)
    return {"nbgrader autograde": Timed(ran.seconds * share, memory), "... and generate_feedback": both}, klass


def _compared(plan: Plan, folder: ClassFolder, klass: StockClass | None) -> list[str]:
    """Whether both gave each student the same points in each exercise. AssertionError where they did not."""
    if klass is None:
        return ["nbgrader alone was left out."]
    mine = scores(folder.gradebook, LESSON, course_id(load_config(folder)))
    theirs = {name: points for name, points in klass.scores(LESSON).items() if name in mine}
    other = [
        f"{name}, {test}: {mine[name].get(test)} here, {points} by nbgrader alone"
        for name, tests in theirs.items()
        for test, points in tests.items()
        if mine[name].get(test) != points
    ]
    assert not other, "the scores differ:\n" + "\n".join(other)
    cells = sum(map(len, theirs.values()))
    told = [f"The scores are identical: {cells} of {cells} in {len(theirs)} submissions."]
    if plan.stock < plan.count:
        times = f"{plan.count / plan.stock:g}"
        told.append(f"nbgrader alone graded {plan.stock}: its time is theirs times {times}, too long by some starts.")
    return told


def growth(counts: list[int], jobs: int, root: Path, say: Say) -> Table:
    """What a submission costs in classes of several sizes."""
    columns = ("submissions", "seconds", "each [s]", "peak memory", "largest process", "most processes at once")
    table = Table(*columns, title=f"grader grade --jobs {jobs}, by the size of the class")
    for count in counts:
        say(f"grader grade --jobs {jobs}: {count} submissions ...")
        folder = make_class(root / f"class_{count}", count)
        timed = _ours(folder, jobs)
        shutil.rmtree(folder.root)
        assert timed.memory is not None
        seconds, each, _, *sizes = _row(timed, count, "")
        table.add_row(str(count), seconds, each, *sizes, str(timed.memory.processes))
    return table
