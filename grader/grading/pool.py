"""Processes on this machine that grade: forked from one that has loaded all, sharing one warm process for submissions.

Nothing heavy is imported here, so that a run can have it all loaded elsewhere while it reads the class itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import resource_tracker
from multiprocessing.forkserver import ensure_running
from typing import Any, TypeVar

from grader.grading.level import Level
from grader.grading.program import SharedWarm
from grader.grading.sandbox import choose_level

__all__ = ["Pool", "cores", "pool"]

T = TypeVar("T")


class Pool:
    """Makes executors of `workers` processes. What they need is loaded from here on, in the background."""

    def __init__(self, level: Level, workers: int) -> None:
        self.level, self.workers = level, workers
        forks = hasattr(os, "fork")
        self._shared = SharedWarm(level) if forks else None
        self._context = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:
            self._context.set_forkserver_preload(["grader.grading.preload"])
            with _deaf_to_ctrl_c():
                ensure_running()

    @property
    def warm(self) -> str:
        """The address of the shared warm process, "" where there is none."""
        return self._shared.address if self._shared else ""

    def open(self) -> Executor:
        """An executor."""
        from grader.grading.worker import start_in_pool

        return _Workers(self.workers, mp_context=self._context, initializer=start_in_pool)

    def close(self, executor: Executor) -> None:
        """End an executor without waiting for what its processes are at."""
        assert isinstance(executor, ProcessPoolExecutor)
        processes = list((getattr(executor, "_processes", None) or {}).values())
        executor.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()

    def stop(self) -> None:
        if self._shared is not None:
            self._shared.close()


class _Workers(ProcessPoolExecutor):
    """A Ctrl-C waits until a worker that is being started is known, so that it is ended with the others."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        with _deaf_to_ctrl_c():
            return super().submit(fn, *args, **kwargs)


@contextlib.contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """A Ctrl-C comes after the block, and never to the processes that are started in it: they end with the run. One
    that is still importing would die with a traceback else."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # where it has to be started, it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def pool(jobs: int | None = None, *, unsafe: bool = False) -> Iterator[Pool]:
    """`jobs` processes, one for each core unless said. GraderError where there is no sandbox and it is not `unsafe`."""
    made = Pool(choose_level(unsafe), jobs or cores())
    try:
        yield made
    finally:
        made.stop()


def cores() -> int:
    """How many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1
