"""How long a learner waits for a verdict, exercise by exercise.

Times are medians of a few runs in a warm process, for a right answer and for the slowest of the known wrong ones (which
also has to be diagnosed). The peer is one plain torch.autograd.gradcheck of the same right Function, in the same run.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from rich.table import Table

import grader.exercises
from grader.battery import PUBLIC_SEED
from grader.checking import verdict
from grader.exercise import Exercise
from grader.matrix.peer import gradcheck_alone

__all__ = ["learner"]

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
    """A row for each exercise."""
    first = next(iter(grader.exercises.catalogue().values()))
    verdict(first, first.variants[0].thing, PUBLIC_SEED)  # what torch loads once is not the exercise's time
    columns = ("exercise", "right [s]", "/ gradcheck", "slowest wrong [s]", "which")
    table = Table(*columns, title="A learner's verdict")
    for exercise in grader.exercises.catalogue().values():
        right, wrong, which = times(exercise)
        table.add_row(exercise.id, f"{right:.2f}", ratio_to_gradcheck(exercise, right), f"{wrong:.2f}", which)
    table.caption = importing()
    return table


def importing() -> str:
    """What a lesson's first cell costs on top of torch, in fresh processes."""
    code = (
        "import time; a = time.perf_counter(); import torch; b = time.perf_counter()\n"
        "from grader import check, explain, hint, progress; print(b - a, time.perf_counter() - b)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(RUNS)
    ]
    torch, ours = (statistics.median(float(r.stdout.split()[k]) for r in runs) for k in (0, 1))
    return f"importing the learner's names: {ours:.2f} s on top of torch's {torch:.2f} s, {ours / torch:.1%} of it"


def ratio_to_gradcheck(exercise: Exercise, taken: float) -> str:
    """How many plain gradchecks of the same Function the verdict takes; "-" where gradcheck does not apply."""
    thing = exercise.variants[0].thing
    if not gradcheck_alone(exercise, thing):
        return "-"
    return f"{taken / seconds(partial(gradcheck_alone, exercise, thing)):.1f}"
