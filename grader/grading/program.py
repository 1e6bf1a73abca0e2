"""The warm process as a program of its own, inside the sandbox: how it is started, spoken to and ended."""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.grading.group import kill_group
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.sandbox import command

__all__ = ["START_SECONDS", "Program", "SharedWarm", "number"]

_NUMBER = struct.Struct(">q")
START_SECONDS = 120.0
_LONG = 70  # characters; a socket's path has a hundred at most


class Program:
    """A started warm process. Its environment holds no secret, and nothing of this process is in its memory.

    control    the socket that it obeys
    listener   a socket on which it takes callers, each with a copy of it
    """

    def __init__(self, level: Level, limits: Limits, listener: socket.socket | None = None) -> None:
        self.control, theirs = socket.socketpair()
        self.said: Any = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        passed = [theirs.fileno(), *([listener.fileno()] if listener else [])]
        argv = [sys.executable, "-P", "-m", "grader.grading.template", str(theirs.fileno())]
        argv += [str(listener.fileno() if listener else -1), level.as_text(), json.dumps(asdict(limits))]
        with theirs:
            self.process = subprocess.Popen(
                command(level, argv, keep_fds=passed),
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self.said,
                start_new_session=True,
            )
        self.control.settimeout(START_SECONDS)

    def wait_until_ready(self) -> None:
        """Raises GraderError, with what it said, where it does not come up."""
        try:
            number(self.control)
        except OSError:
            self.said.seek(0)
            text = self.said.read()[-2000:].decode(errors="replace").strip()
            self.close()
            raise GraderError(f"the warm process did not start. It said: {text or 'nothing'}") from None

    def runs(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End it and all that it started."""
        self.control.close()
        self.said.close()
        try:
            self.process.wait(timeout=5.0)  # it ends its children, then itself
        except subprocess.TimeoutExpired:
            kill_group(self.process)


class SharedWarm:
    """One warm process for several workers: `Warm(level, shared=address)` gets a copy of it.

    Started at once; what it imports is loaded while the caller goes on. Ends with `close()` or with this process.
    """

    def __init__(self, level: Level, limits: Limits | None = None) -> None:
        place = None if len(tempfile.gettempdir()) < _LONG else "/tmp"
        self._folder = tempfile.TemporaryDirectory(prefix="grader-", dir=place)  # readable by its owner alone
        self.address = str(Path(self._folder.name) / "warm")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.address)
            listener.listen(64)
            self._program = Program(level, limits or Limits(), listener)

    def close(self) -> None:
        self._program.close()
        self._folder.cleanup()


def number(sock: socket.socket) -> int:
    """The answer of a warm process. Raises OSError where it is gone."""
    data = b""
    while len(data) < _NUMBER.size:
        piece = sock.recv(_NUMBER.size - len(data))
        if not piece:
            raise ConnectionError("the warm process is gone")
        data += piece
    return int(_NUMBER.unpack(data)[0])
