"""The memory of all processes that this one has started, watched while something runs."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType

__all__ = ["Memory", "megabytes"]

EVERY = 2.0  # seconds; looking costs time, and more where there are more processes


class Memory:
    """Peaks in bytes: of the sum over all descendants, of the largest one, and how many there were at once.

    The sum counts pages that several processes share once (PSS) where the system tells, else in each (RSS). Linux only.
    """

    def __init__(self) -> None:
        self.total = self.largest = self.processes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY):
            sizes = [size for pid in _descendants(os.getpid()) if (size := _size(pid))]
            self.total = max(self.total, sum(sizes))
            self.largest = max(self.largest, *sizes, 0)
            self.processes = max(self.processes, len(sizes))

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()


def megabytes(size: int) -> str:
    return f"{size / 2**20:.0f} MB" if size else "not seen"


def _descendants(pid: int) -> list[int]:
    found, ask = [], [pid]
    while ask:
        children = _children(ask.pop())
        found += children
        ask += children
    return found


def _children(pid: int) -> list[int]:
    """The children of all threads of a process."""
    found: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    except OSError:
        pass
    return found


def _size(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
