"""A process that grades: it keeps one warm process and judges in its own memory. Local pools, Dask and nbgrader use it.

Nothing here is shared between two submissions but the warm process, which no submission can write to. What it needs is
imported when it grades: whoever hands work to it need not load torch.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import parent_process
from multiprocessing.connection import wait
from typing import TYPE_CHECKING

from grader.errors import GraderError
from grader.grading.sandbox import choose_level
from grader.grading.work import Failed, Graded, Sandbox, Work

if TYPE_CHECKING:
    from grader.grading.warm import Warm

__all__ = ["grade_batch", "grade_one", "rest", "start_in_pool"]

_warm: Warm | None = None
_thread = ThreadPoolExecutor(1, "grader")  # the warm process ends with the thread that started it, so it is this one


def start_in_pool() -> None:
    """The first thing a process of a local pool does: end when the run does, in whatever way that ends."""
    import torch

    torch.set_num_threads(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends its workers
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


def grade_batch(batch: Sequence[Work], sandbox: Sandbox) -> list[Graded | Failed]:
    """Grade some submissions, one after another."""
    return [_guarded(work, sandbox) for work in batch]


def _guarded(work: Work, sandbox: Sandbox) -> Graded | Failed:
    try:
        return grade_one(work, sandbox)
    except GraderError as error:
        return Failed(error)
    except Exception as error:  # a fault of ours costs one submission another try, never a run
        return Failed(f"{type(error).__name__}: {error}")


def grade_one(work: Work, sandbox: Sandbox) -> Graded:
    """Grade a submission. Raises GraderError where there is no sandbox or no process can be started."""
    return _thread.submit(_grade, work, sandbox).result()


def _grade(work: Work, sandbox: Sandbox) -> Graded:
    from grader.grading.fresh import Fresh
    from grader.grading.judge import grade
    from grader.grading.warm import Warm

    global _warm
    level = sandbox.level or choose_level(sandbox.unsafe)
    if not hasattr(os, "fork"):
        return grade(work, Fresh)
    if _warm is None or (_warm.level, _warm.shared) != (level, sandbox.shared):
        rest()
        _warm = Warm(level, shared=sandbox.shared)
    return grade(work, _warm.fork)


def rest() -> None:
    """End the warm process; the next submission starts another."""
    global _warm
    if _warm is not None:
        _warm.close()
        _warm = None


atexit.register(rest)
