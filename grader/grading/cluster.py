"""Grading on a Dask cluster (`pip install '.[cluster]'`): the same work in the same batches, on other machines.

A submission travels as bytes, with its hidden tests and seeds, to workers that are trusted: no shared disk is needed,
and each worker shuts student code in with what its own machine has. Dask gives a lost worker's batch to another one.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import CancelledError, Executor
from functools import partial
from typing import Any

from grader.errors import GraderError
from grader.grading.engine import Engine
from grader.grading.work import Sandbox
from grader.grading.worker import grade_batch

__all__ = ["cluster"]

_BATCH = 4
_SECONDS = 20


@contextlib.contextmanager
def cluster(address: str, *, unsafe: bool = False) -> Iterator[Engine]:
    """The workers of the scheduler at `address`, such as tcp://10.0.0.5:8786.

    unsafe: workers without a sandbox grade too.
    Raises GraderError where Dask is not installed, the scheduler does not answer, or it has no workers.
    """
    try:
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise GraderError("--scheduler needs Dask, which is not installed. Run: pip install '.[cluster]'") from None
    connection = _Connection(address)
    try:
        workers = connection.workers()
        yield Engine(
            describe=f"{workers} worker{'s' * (workers > 1)} of the Dask cluster at {address}, each in its own sandbox",
            open=connection.open,
            close=lambda executor: executor.shutdown(wait=False),
            workers=workers,
            batch=_BATCH,
            grade=partial(grade_batch, sandbox=Sandbox(unsafe=unsafe)),
            lost=(KilledWorker, CancelledError),
        )
    finally:
        connection.client.close()


class _Connection:
    """A client of the scheduler for each executor."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client = self._connected()

    def workers(self) -> int:
        """How many threads all workers have together."""
        found = sum(self.client.nthreads().values())
        if not found:
            command = f"dask worker {self.address} --nthreads 1"
            raise GraderError(f"the scheduler at {self.address} has no workers. Start some: {command}")
        return int(found)

    def open(self) -> Executor:
        if self.client.status != "running":
            self.client = self._connected()
        executor: Executor = self.client.get_executor(pure=False)
        return executor

    def _connected(self) -> Any:
        from distributed import Client

        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is said by us
        try:
            return Client(self.address, timeout=_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise GraderError(
                f"no Dask scheduler answers at {self.address} ({type(error).__name__}). What was graded until now is "
                "kept. Start one with `dask scheduler`, and give the address that it prints"
            ) from None
