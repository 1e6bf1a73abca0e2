"""The keeper: a trusted process between the warm process and a submission, that outlives it and cleans up.

    warm process --fork--> keeper --fork--> the submission's process

Killing the keeper, in whatever way, ends the submission; its exit status is the submission's.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import NoReturn

from grader.grading.kernel import Prctl, prctl

__all__ = ["close_all_but", "split"]


def split(scratch: Path | None) -> None:
    """Fork. Returns in the child only; this process keeps it, removes `scratch` after it, and never returns."""
    warm = os.getppid()
    alive, held = os.pipe()
    child = os.fork()
    if child:
        _keep(child, scratch, held, warm)
    os.close(held)
    if sys.platform == "linux":
        prctl(Prctl.SET_PDEATHSIG, signal.SIGKILL)
    if select.select([alive], [], [], 0)[0]:  # the keeper died before its death could be a signal
        os._exit(1)
    os.close(alive)
    with contextlib.suppress(PermissionError):  # leads a session already
        os.setsid()


def close_all_but(kept: tuple[int, ...]) -> None:
    """Close every file descriptor from 3 on that is not in `kept`."""
    start = 3
    for descriptor in sorted({fd for fd in kept if fd >= start}):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, 1 << 20)


def _keep(child: int, scratch: Path | None, held: int, warm: int) -> NoReturn:
    def end(_number: int, _frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    if sys.platform == "linux":
        prctl(Prctl.SET_PDEATHSIG, signal.SIGTERM)  # where no bubblewrap ends all: end with the warm process
        if os.getppid() != warm:
            end(signal.SIGTERM, None)
    close_all_but((held,))  # above all the wire: the other end must see it close when the submission ends
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # not reaped yet, so its id is still its own
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)  # what stayed in its session, where no namespace ended it
    _, status = os.waitpid(child, 0)
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
    _exit_like(status)


def _exit_like(status: int) -> NoReturn:
    """End as the child did: the same exit code, or the same signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
