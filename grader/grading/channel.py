"""Frames over a socket, each read and write with a deadline. Either end uses it; neither trusts the other's bytes."""

from __future__ import annotations

import socket
import time
from enum import IntEnum
from typing import NamedTuple

from grader.grading.wire import HEADER, Limits, frame, header_of

__all__ = ["Channel", "Closed", "Frame", "Kind", "TimedOut"]

_CHUNK, _MOST = 2**14, 2**18


class Kind(IntEnum):
    """What a frame asks or answers. Requests go to the host, APPLY and VJP from it.

    A request is answered by one REPLY, OBSERVE by one per probe as far as they went through, and then DONE.
    """

    REPLY = 1
    CELL = 2
    OPEN = 3
    OBSERVE = 4
    CALL = 5
    CLAIMS = 6
    DONE = 7
    APPLY = 9
    VJP = 10
    FILE = 11


class Frame(NamedTuple):
    kind: int
    sequence: int
    body: bytes


class Closed(Exception):
    """The other end is gone."""


class TimedOut(Exception):
    """The deadline passed."""


class Channel:
    """One end of a stream socket. `limits` are those of the frames read here."""

    def __init__(self, sock: socket.socket, limits: Limits) -> None:
        self.socket, self.limits = sock, limits
        self._came = bytearray()  # read from the socket, and not yet asked for

    def send(self, *frames: Frame, deadline: float | None = None) -> None:
        """Write frames; `deadline` is a time.monotonic(), None waits for ever."""
        left = memoryview(b"".join(frame(*one) for one in frames))
        while left:
            self._wait_at_most(deadline)
            try:
                left = left[self.socket.send(left) :]
            except OSError as error:
                raise _named(error) from None

    def receive(self, deadline: float | None = None) -> Frame:
        """Read one frame."""
        kind, sequence, length = header_of(self._exactly(HEADER.size, deadline), self.limits)
        return Frame(kind, sequence, self._exactly(length, deadline))

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        came = self._came
        while len(came) < count:
            self._wait_at_most(deadline)  # each time: a trickle of bytes is no progress
            try:
                piece = self.socket.recv(max(_CHUNK, min(count - len(came), _MOST)))
            except OSError as error:
                raise _named(error) from None
            if not piece:
                raise Closed("the connection ended")
            came += piece
        data = bytes(came[:count])
        del came[:count]
        return data

    def _wait_at_most(self, deadline: float | None) -> None:
        if deadline is None:
            if self.socket.gettimeout() is not None:
                self.socket.settimeout(None)
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimedOut
        self.socket.settimeout(left)

    def close(self) -> None:
        self.socket.close()



def _named(error: OSError) -> Exception:
    return TimedOut() if isinstance(error, TimeoutError) else Closed(str(error))
