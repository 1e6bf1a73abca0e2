"""Processes for submissions, forked from one that has imported everything already: the trusted side.

The warm process runs one submission at a time, and ends whatever that one leaves behind before the next.
"""

from __future__ import annotations

import os
import signal
import socket

from grader.errors import GraderError
from grader.grading.channel import Channel
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.program import START_SECONDS, Program, number
from grader.grading.wire import FROM_HOST

__all__ = ["KILLED", "Forked", "Warm", "how_it_ended"]

KILLED = "it was killed, likely for more memory than allowed"
_SIGNALS = {
    "SIGSEGV": "a crash (segmentation fault)",
    "SIGABRT": "a crash (abort)",
    "SIGBUS": "a crash (bus error)",
    "SIGFPE": "a crash (arithmetic error)",
    "SIGILL": "a crash (illegal instruction)",
    "SIGSYS": "it asked the system for what the sandbox forbids",
    "SIGKILL": KILLED,
}


class Warm:
    """A warm process, started at the first fork and again should it be gone. To be used from one thread.

    shared: where a `SharedWarm` of the same level listens, whose copy is used as long as it is there.
    """

    def __init__(self, level: Level, limits: Limits | None = None, *, shared: str = "") -> None:
        self.level, self.limits, self.shared = level, limits or Limits(), shared
        self._program: Program | None = None
        self._socket: socket.socket | None = None

    def fork(self) -> Forked:
        """A new process for a submission; the one before is ended. GraderError where none can be started."""
        for _ in range(2):
            control = self._control()
            ours, theirs = socket.socketpair()
            try:
                socket.send_fds(control, [b"F"], [theirs.fileno()])
                number(control)
                return Forked(self, ours)
            except OSError:
                ours.close()
                self.close()
            finally:
                theirs.close()
        raise GraderError("the warm process cannot fork. Likely cause: too little memory. Run: grader doctor")

    def end(self, *, ended_itself: bool) -> int:
        """End the submission's process and all that it started.

        Its wait status where it `ended_itself`; else, and where nobody knows, -1.
        """
        if self._socket is None:
            return -1
        try:
            self._socket.sendall(b"E" if ended_itself else b"K")
            return number(self._socket)
        except OSError:
            self.close()
            return -1

    def _control(self) -> socket.socket:
        if self._socket is None or (self._program is not None and not self._program.runs()):
            self.close()
            self._socket = self._copy_of_shared() or self._of_our_own()
        return self._socket

    def _copy_of_shared(self) -> socket.socket | None:
        """A conversation with a copy of the shared warm process; None where there is none."""
        if not self.shared:
            return None
        ours = socket.socket(socket.AF_UNIX)
        ours.settimeout(START_SECONDS)
        try:
            ours.connect(self.shared)
            number(ours)
        except OSError:
            ours.close()
            return None
        return ours

    def _of_our_own(self) -> socket.socket:
        program = Program(self.level, self.limits)
        program.wait_until_ready()
        self._program = program
        return program.control

    def close(self) -> None:
        """End the warm process and the submission that runs in it."""
        program, control, self._program, self._socket = self._program, self._socket, None, None
        if control is not None:
            control.close()
        if program is not None:
            program.close()

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Forked:
    """A submission's process, from the trusted side."""

    def __init__(self, warm: Warm, sock: socket.socket) -> None:
        self.warm, self.socket = warm, sock

    def channel(self) -> Channel:
        return Channel(self.socket, FROM_HOST)

    def end(self, *, ended_itself: bool) -> str:
        """End it and all that it started; how it ended, in words, where it did so by itself."""
        return how_it_ended(self.warm.end(ended_itself=ended_itself))


def how_it_ended(status: int) -> str:
    """A wait status in words; "" for -1."""
    if status == -1:
        return ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return _SIGNALS.get(_name(number), f"it was ended by signal {number}")
    return f"it ended itself with exit code {os.waitstatus_to_exitcode(status)}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return ""

