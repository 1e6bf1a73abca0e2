"""How long a learner waits for a verdict, exercise by exercise, and an instructor for the sample class.

`make bench` prints a table and leaves nothing behind. Times are medians of a few runs in a warm process, for
a right answer and for the slowest of the known wrong ones (which also has to be diagnosed). The peer is one plain
torch.autograd.gradcheck of the same right Function, timed in the same run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table

import grader.exercises
from grader.battery import PUBLIC_SEED
from grader.checking import verdict
from grader.exercise import Exercise
from grader.matrix.peer import gradcheck_alone

RUNS = 3


def seconds(work: Callable[[], object], *, runs: int = RUNS) -> float:
    """The median wall-clock time of `work`."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def times(exercise: Exercise) -> tuple[float, float, str]:
    """Seconds for a right answer and for the slowest wrong one, with its id."""
    right = seconds(partial(verdict, exercise, exercise.variants[0].thing, PUBLIC_SEED))
    wrong = {
        mistake.id: seconds(partial(verdict, exercise, mistake.thing, PUBLIC_SEED), runs=1)
        for mistake in exercise.misconceptions
    }
    slowest = max(wrong, key=wrong.__getitem__)
    return right, wrong[slowest], slowest


def learner() -> Table:
    columns = ("exercise", "right [s]", "/ gradcheck", "slowest wrong [s]", "which")
    table = Table(*columns, title="A learner's verdict")
    for exercise in grader.exercises.catalogue().values():
        right, wrong, which = times(exercise)
        table.add_row(exercise.id, f"{right:.2f}", ratio_to_gradcheck(exercise, right), f"{wrong:.2f}", which)
    return table


def ratio_to_gradcheck(exercise: Exercise, taken: float) -> str:
    """How many plain gradchecks of the same Function the verdict takes; "-" where gradcheck does not apply."""
    thing = exercise.variants[0].thing
    if not gradcheck_alone(exercise, thing):
        return "-"
    return f"{taken / seconds(partial(gradcheck_alone, exercise, thing)):.1f}"


def instructor() -> str:
    """Make and grade the sample class, as `make grade` does."""
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "class")
        make = [sys.executable, str(Path(__file__).with_name("make_class.py")), place]
        grade = [sys.executable, "-m", "grader", "grade", place]
        subprocess.run(make, check=True, capture_output=True)
        taken = seconds(lambda: subprocess.run(grade, check=False, capture_output=True), runs=1)
        handed_in = len(list((Path(place) / "submitted").glob("*/*")))
    each = taken / max(handed_in, 1)
    return f"The sample class: {handed_in} submissions in {taken:.0f} s, {each:.2f} s each"


if __name__ == "__main__":
    console = Console()
    console.print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    first = next(iter(grader.exercises.catalogue().values()))
    verdict(first, first.variants[0].thing, PUBLIC_SEED)  # what torch loads once is not the exercise's time
    console.print(learner())
    console.print("Grading the sample class; this takes minutes ...")
    console.print(instructor())
