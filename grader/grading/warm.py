"""Processes for submissions, forked from one that has imported everything already: the trusted side.

The warm process is a program of its own inside the sandbox, with an environment that holds no secret, so that nothing
of the trusted process is in the memory of its children. It runs one submission at a time, and ends whatever that one
leaves behind before the next.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict

from grader.errors import GraderError
from grader.grading.channel import Channel
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.sandbox import command
from grader.grading.wire import FROM_HOST

__all__ = ["REPLY", "Forked", "Warm", "how_it_ended"]

REPLY = struct.Struct(">q")
_START_SECONDS = 120.0
_SIGNALS = {
    "SIGSEGV": "a crash (segmentation fault)",
    "SIGABRT": "a crash (abort)",
    "SIGBUS": "a crash (bus error)",
    "SIGFPE": "a crash (arithmetic error)",
    "SIGILL": "a crash (illegal instruction)",
    "SIGSYS": "it asked the system for what the sandbox forbids",
    "SIGKILL": "it was killed, likely for more memory than allowed",
}


class Warm:
    """A warm process, started at the first fork and again should it be gone. To be used from one thread."""

    def __init__(self, level: Level, limits: Limits | None = None) -> None:
        self.level, self.limits = level, limits or Limits()
        self._program: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None

    def fork(self) -> Forked:
        """A new process for a submission; the one before is ended. GraderError where none can be started."""
        for _ in range(2):
            control = self._control()
            ours, theirs = socket.socketpair()
            try:
                socket.send_fds(control, [b"F"], [theirs.fileno()])
                _number(control)
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
            return _number(self._socket)
        except OSError:
            self.close()
            return -1

    def _control(self) -> socket.socket:
        if self._socket is None or self._program is None or self._program.poll() is not None:
            self.close()
            self._socket = self._start()
        return self._socket

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        argv = [sys.executable, "-P", "-m", "grader.grading.template", str(theirs.fileno())]
        argv += [self.level.as_text(), json.dumps(asdict(self.limits))]
        with tempfile.TemporaryFile() as said, theirs:
            self._program = subprocess.Popen(
                command(self.level, argv, keep_fds=[theirs.fileno()]),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            theirs.close()
            ours.settimeout(_START_SECONDS)
            try:
                _number(ours)
            except OSError:
                ours.close()
                self.close()
                said.seek(0)
                text = said.read()[-2000:].decode(errors="replace").strip()
                raise GraderError(f"the warm process did not start. It said: {text or 'nothing'}") from None
        return ours

    def close(self) -> None:
        """End the warm process and the submission that runs in it."""
        program, control, self._program, self._socket = self._program, self._socket, None, None
        if control is not None:
            control.close()
        if program is None:
            return
        try:
            program.wait(timeout=5.0)  # it ends its children, then itself
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()

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


def _number(sock: socket.socket) -> int:
    data = b""
    while len(data) < REPLY.size:
        piece = sock.recv(REPLY.size - len(data))
        if not piece:
            raise ConnectionError("the warm process is gone")
        data += piece
    return int(REPLY.unpack(data)[0])
