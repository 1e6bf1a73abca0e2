"""Whether processes that a test has seen are still running."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psutil


def all_gone(processes: Sequence[psutil.Process], seconds: float = 30.0) -> bool:
    """Wait for the end of all of them, `seconds` on the clock at most."""
    until = time.monotonic() + seconds
    while not all(map(_ended, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return all(map(_ended, processes))


def _ended(process: psutil.Process) -> bool:
    """Whether it is gone, or is but a name that its parent has not asked after yet."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
