"""Grades many submissions in other processes: workers on this machine, or on a Dask cluster.

    work --batches--> Executor (processes here | Dask) --> Graded, in the order in which they are done

Only a few batches are on their way at any time, so memory does not grow with the class. A worker that is lost, for want
of memory or by a `kill -9`, costs nothing but time: what it had is graded again, and submissions that were on their way
at that moment one by one, so that one that ends its worker every time is found and the others are not blamed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass
from functools import partial
from itertools import islice

from grader.grading.pool import Pool
from grader.grading.work import Failed, Graded, Sandbox, Work
from grader.grading.worker import grade_batch

__all__ = ["Engine", "local"]

_ATTEMPTS = 3
_AHEAD = 2  # batches a worker has waiting


Batch = list[Work]


@dataclass(frozen=True)
class Engine:
    """Where submissions are graded.

    describe   in a few words, for the head of a run
    open       makes an executor; called again when one is broken
    close      ends it at once
    workers    how many submissions are graded at a time
    batch      how many travel together
    grade      what a worker does with a batch
    lost       the exceptions that mean that a worker was lost
    """

    describe: str
    open: Callable[[], Executor]
    close: Callable[[Executor], None]
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


def local(pool: Pool) -> Engine:
    """The processes of a pool on this machine."""
    sandbox = Sandbox(pool.level, unsafe=pool.level.name == "none", shared=pool.warm)
    return Engine(
        describe=f"{pool.workers} process{'es' * (pool.workers > 1)} on this machine, sandbox: {pool.level.describe()}",
        open=pool.open,
        close=pool.close,
        workers=pool.workers,
        batch=1,
        grade=partial(grade_batch, sandbox=sandbox),
    )
