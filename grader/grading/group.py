"""Ending a process that was started in a session of its own, with what it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import Any

__all__ = ["kill_group"]


def kill_group(child: subprocess.Popen[Any]) -> None:
    """Kill the process and what is in its group, and wait for it. It was started with `start_new_session=True`."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    elif child.poll() is None:
        child.kill()
    child.wait()
