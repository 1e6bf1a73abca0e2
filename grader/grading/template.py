"""The warm process: has imported what student code and its probes need, and forks one child per submission.

It has one thread and never runs a backward pass itself, so that a fork is safe. It obeys the trusted process alone,
over a socket that no child keeps: F forks (the child's own socket comes along), E and K end the child and all it left.

Where several workers grade, one warm process serves them all: for each that connects it forks itself, so that what
was imported is loaded once, and each has submissions of its own.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from pathlib import Path
from typing import NoReturn

from grader.grading.for_good import loaded_for_good
from grader.grading.kernel import Prctl, prctl
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.sandbox import confine_child

__all__ = ["MODULES", "main"]

MODULES = (
    "numpy",
    "torch",
    "torch.autograd.gradcheck",
    "torch.testing",
    "torch.func",
    "torch.library",
    "torch._functorch.autograd_function",
    "torch._functorch.pyfunctorch",
    "torch.fx.experimental.symbolic_shapes",
    "torch._dynamo",
    "torch._subclasses.schema_check_mode",
    "torch.profiler._cupti_monitor",
    "numpy.random",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "grader.grading.host",
)
"""Loaded before the first fork. Those of torch, and the backend, are what would load at the first use."""

_NUMBER = struct.Struct(">q")
_SUBREAPER = 36


def main(descriptor: int, listener: int, level: Level, limits: Limits) -> NoReturn:
    """Serve the control socket until it closes; with a `listener` (-1: none) a copy of this process for each caller."""
    control = socket.socket(fileno=descriptor)
    with loaded_for_good():
        for name in MODULES:
            importlib.import_module(name)
        _one_thread()
        sys.modules["grader.grading.stand_ins"].package_names()
    control.sendall(_NUMBER.pack(0))
    if listener >= 0:
        control = _copy_for_each_caller(control, socket.socket(fileno=listener))
    _serve(control, level, limits)


def _copy_for_each_caller(control: socket.socket, listener: socket.socket) -> socket.socket:
    """Returns in copies only, each with its caller's socket. Ends with the control socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # copies that end leave nothing to collect
    while True:
        ready, _, _ = select.select([control, listener], [], [])
        if control in ready:
            os._exit(0)
        caller, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _end_with_parent()
            control.close()
            listener.close()
            caller.sendall(_NUMBER.pack(0))
            return caller
        caller.close()


def _serve(control: socket.socket, level: Level, limits: Limits) -> NoReturn:
    _adopt_orphans()
    child = 0
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if request == b"F":
            _end(child, ended_itself=False)
            child = _fork(control, descriptors[0], level, limits)
            control.sendall(_NUMBER.pack(child))
        elif request in (b"E", b"K"):
            control.sendall(_NUMBER.pack(_end(child, ended_itself=request == b"E")))
            child = 0
        else:
            _end(child, ended_itself=False)
            os._exit(0)


def _end_with_parent() -> None:
    if sys.platform == "linux":
        prctl(Prctl.SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))


def _one_thread() -> None:
    import torch

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)


def _adopt_orphans() -> None:
    """What a submission detaches from itself becomes a child of this process, and is ended with it. Linux only."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            prctl(_SUBREAPER, ctypes.c_ulong(1))


def _fork(control: socket.socket, descriptor: int, level: Level, limits: Limits) -> int:
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    try:
        control.close()
        os.setsid()
        _end_with_parent()
        _quiet()
        confine_child(level, keep_fds=[descriptor], limits=limits)
        from grader.grading.host import serve

        serve(socket.socket(fileno=descriptor))
    finally:
        os._exit(1)


def _quiet() -> None:
    """Standard output that goes nowhere: what Python prints is caught before."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)


# ---- the end of a submission -----------------------------------------------------------------------------------------


def _end(child: int, *, ended_itself: bool) -> int:
    """End a child and its descendants; its wait status if it ended by itself, else -1."""
    if not child:
        return -1
    status = _waited(child, 0.5) if ended_itself else None
    if status is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)  # the keeper of a sandbox cleans up; anything else just ends
        _waited(child, 0.5)
    for _ in range(1000):
        for pid in _children():
            _kill(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child, signal.SIGKILL)
        if not _reap():
            break
        time.sleep(0.001)
    return -1 if status is None else status


def _waited(child: int, seconds: float) -> int | None:
    """The wait status of a child that ends within so many seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            pid, status = os.waitpid(child, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid:
            return status
        time.sleep(0.0005)
    return None


def _children() -> list[int]:
    """Every child of this process, those it adopted among them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _reap() -> bool:
    """Collect the children that have ended; whether any is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Level.from_text(sys.argv[3]), Limits(**json.loads(sys.argv[4])))
