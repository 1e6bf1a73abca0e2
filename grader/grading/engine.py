"""Grades many submissions in other processes: workers on this machine, or on a Dask cluster.

    work --batches--> Executor (processes here | Dask) --> Graded, in the order in which they are done

Only a few batches are on their way at any time, so memory does not grow with the class. A worker that is lost, for want
of memory or by a `kill -9`, costs nothing but time: what it had is graded again, and submissions that were on their way
at that moment one by one, so that one that ends its worker every time is found and the others are not blamed.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing.forkserver import ensure_running

from grader.grading.level import Level
from grader.grading.program import SharedWarm
from grader.grading.work import Graded, Work
from grader.grading.worker import Failed, Sandbox, grade_batch, start_in_pool

__all__ = ["Engine", "cores", "describe", "local"]

_ATTEMPTS = 3
_AHEAD = 2  # batches a worker has waiting


Batch = list[Work]


@dataclass(frozen=True)
class Engine:
    """Where submissions are graded.

    describe   in a few words, for the head of a run
    open       makes an executor; called again when one is broken
    close      ends it at once
    stop       ends the rest, when all is done
    workers    how many submissions are graded at a time
    batch      how many travel together
    grade      what a worker does with a batch
    lost       the exceptions that mean that a worker was lost
    """

    describe: str
    open: Callable[[], Executor]
    close: Callable[[Executor], None]
    stop: Callable[[], None]
    workers: int
    batch: int
    grade: Callable[[Batch], list[Graded | Failed]]
    lost: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError)

    def run(self, works: Iterable[Work]) -> Generator[list[tuple[Work, Graded | Failed]], None, None]:
        """What became of each work, some at a time. `works` is read as workers become free."""
        return _Run(self).everything(iter(works))


class _Run:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.executor = engine.open()
        self.going: dict[Future[list[Graded | Failed]], Batch] = {}
        self.suspects: deque[Work] = deque()
        self.attempts: Counter[int] = Counter()

    def everything(self, works: Iterator[Work]) -> Generator[list[tuple[Work, Graded | Failed]], None, None]:
        try:
            while self._send(works):
                done, _ = wait(self.going, return_when=FIRST_COMPLETED)
                found = [pair for future in done for pair in self._received(future)]
                if found:
                    yield found
        finally:
            self.engine.close(self.executor)

    def _send(self, works: Iterator[Work]) -> bool:
        """Send what there is room for; whether anything is on its way."""
        if self.suspects:
            if not self.going:
                self._submit([self.suspects.popleft()])
            return True
        while len(self.going) < self.engine.workers * _AHEAD:
            batch = list(islice(works, self.engine.batch))
            if not batch:
                break
            self._submit(batch)
        return bool(self.going)

    def _submit(self, batch: Batch) -> None:
        try:
            future = self.executor.submit(self.engine.grade, batch)
        except self.engine.lost:  # broken since the last answer
            self._reopen()
            future = self.executor.submit(self.engine.grade, batch)
        self.going[future] = batch

    def _received(self, future: Future[list[Graded | Failed]]) -> list[tuple[Work, Graded | Failed]]:
        batch = self.going.pop(future, None)
        if batch is None:
            return []  # counted as lost already
        try:
            return list(zip(batch, future.result(), strict=True))
        except self.engine.lost as error:
            found = self._lost(batch, error)
            for other in [f for f in self.going if not f.done()]:
                self.suspects.extend(self.going.pop(other))
            self._reopen()
            return found
        except Exception as error:  # of what carries the work, such as a worker without this package
            reason = Failed(f"it could not be sent to a worker ({type(error).__name__}: {error})")
            return [(work, reason) for work in batch]

    def _lost(self, batch: Batch, error: BaseException) -> list[tuple[Work, Graded | Failed]]:
        """What was in a lost worker is tried again alone; what was alone already is given up after some attempts."""
        if len(batch) > 1:
            self.suspects.extend(batch)
            return []
        (work,) = batch
        self.attempts[id(work)] += 1
        if self.attempts[id(work)] < _ATTEMPTS:
            self.suspects.append(work)
            return []
        reason = f"the process that graded it was ended {_ATTEMPTS} times, likely for want of memory ({error})"
        return [(work, Failed(reason))]

    def _reopen(self) -> None:
        self.engine.close(self.executor)
        self.executor = self.engine.open()


def cores() -> int:
    """How many processors this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def local(level: Level, jobs: int | None = None) -> Engine:
    """`jobs` processes on this machine, one for each core unless said. What they need is loaded from here on."""
    workers = jobs or cores()
    pools = _Pools(level, workers)
    return Engine(
        describe=describe(workers),
        open=pools.open,
        close=pools.close,
        stop=pools.stop,
        workers=workers,
        batch=1,
        grade=pools.grade,
    )


def describe(workers: int) -> str:
    return f"{workers} process{'es' * (workers > 1)} on this machine"


class _Pools:
    """Pools of processes that are forked from one which has loaded all, and share one warm process for submissions."""

    def __init__(self, level: Level, workers: int) -> None:
        self.level, self.workers = level, workers
        forks = hasattr(os, "fork")
        self.shared = SharedWarm(level) if forks else None
        self.context = multiprocessing.get_context("forkserver" if forks else "spawn")
        self.context.set_forkserver_preload(["grader.grading.preload"])
        if forks:
            ensure_running()

    @property
    def grade(self) -> Callable[[Batch], list[Graded | Failed]]:
        address = self.shared.address if self.shared else ""
        return partial(grade_batch, sandbox=Sandbox(self.level, unsafe=self.level.name == "none", shared=address))

    def open(self) -> Executor:
        return ProcessPoolExecutor(self.workers, mp_context=self.context, initializer=start_in_pool)

    def close(self, pool: Executor) -> None:
        """End a pool without waiting for what its processes are at."""
        assert isinstance(pool, ProcessPoolExecutor)
        processes = list((getattr(pool, "_processes", None) or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()

    def stop(self) -> None:
        if self.shared is not None:
            self.shared.close()
