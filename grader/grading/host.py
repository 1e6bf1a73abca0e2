"""The untrusted end: a process that runs a submission's cells and serves probes on the names they define.

It knows no exercise, reference, seed or tolerance, and nothing it says is believed beyond numbers and names. The other
end is the trusted process, so what comes from there is.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.grading import callables, messages
from grader.grading.cells import Notebook
from grader.grading.channel import Channel, Closed, Frame, Kind
from grader.grading.stand_ins import hide_package
from grader.grading.wire import FROM_HOST, FROM_TRUSTED, TooLarge, decode, encode, opaque
from grader.guard import Namespaces, TimeLimit, describe, one_thread, time_limit
from grader.local import LocalSubject, what_is

__all__ = ["serve"]

_CLOCKS = tuple(getattr(signal, name) for name in ("SIGPROF", "SIGALRM") if hasattr(signal, name))


def serve(sock: socket.socket) -> None:
    """Answer requests until the other end closes. Never returns to the caller's code."""
    process = os.getpid()
    with contextlib.suppress(BaseException), one_thread():
        for seed in (random.seed, np.random.seed, torch.manual_seed):
            seed(0)
        host = Host(Channel(sock, FROM_TRUSTED), Notebook())
        hide_package()
        sys.path.insert(0, "")  # files handed in beside the notebook, as in a kernel
        while os.getpid() == process:  # a child that student code forked must not answer
            host.answer_one()
    os._exit(0)


class Host:
    """One submission's process, as a server."""

    def __init__(self, channel: Channel, notebook: Notebook) -> None:
        self.channel, self.notebook = channel, notebook
        self.subjects: list[LocalSubject] = []
        self.sequence = 0
        self.watch: tuple[int, float] | None = None
        self.until: float | None = None
        self.spaces: Namespaces | None = None  # as they were when the watch began
        self.replaced: list[str] = []
        self.handlers: dict[int, Callable[..., Any]] = {
            Kind.FILE: self.file,
            Kind.CELL: self.cell,
            Kind.OPEN: self.open,
            Kind.OBSERVE: self.observe,
            Kind.CALL: self.call,
            Kind.CLAIMS: self.claims,
        }

    def answer_one(self) -> None:
        """Read one request and write its answers: (True, value), or (False, what went wrong in words); then DONE.

        Each as it comes, so that what was found before the code ends the process is not lost.
        """
        kind, self.sequence, body = self.channel.receive()
        if kind in (Kind.APPLY, Kind.VJP):
            return  # an answer that came when the code that asked had been stopped
        process = os.getpid()
        for one in self.answers(kind, body):
            self.reply(process, Frame(Kind.REPLY, self.sequence, one))
        self.reply(process, Frame(Kind.DONE, self.sequence, encode(messages.cut(tuple(self.replaced)), FROM_HOST)))

    def reply(self, process: int, frame: Frame) -> None:
        if os.getpid() != process:
            os._exit(1)
        self.channel.send(frame)

    def answers(self, kind: int, body: bytes) -> Iterator[bytes]:
        try:
            watch, *request = decode(body, FROM_TRUSTED, lambda index: callables.stand_in(index, self.ask))
            self.be_watched(watch)
            for value in self.handlers[kind](*request):
                yield _encoded((True, value))
        except Closed:
            raise
        except (Exception, SystemExit, KeyboardInterrupt, TimeLimit) as error:
            yield _encoded((False, _words(error)))
        self.replaced = self.spaces.replaced() if self.spaces is not None else []

    def ask(self, is_vjp: bool, index: int, value: tuple[Any, ...]) -> Any:
        """Have the trusted process run function `index` of the request that is being answered."""
        kind = Kind.VJP if is_vjp else Kind.APPLY
        body = encode((index, value), FROM_HOST)
        with _clocks_held():  # a frame that is broken off half-way would end the conversation
            self.channel.send(Frame(kind, self.sequence, body))
            answer = self.channel.receive()
        return decode(answer.body, FROM_TRUSTED)

    # ---- requests ----------------------------------------------------------------------------------------------------

    def file(self, name: str, part: Tensor, more: bool) -> Iterator[None]:
        """Write a file, or `more` of it, into the working folder."""
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        with open(name, "ab" if more else "wb") as file:
            file.write(part.numpy().tobytes())
        yield None

    def cell(self, source: str, name: str, seconds: float) -> Iterator[Any]:
        ran = self.notebook.run(source, name, seconds)
        if torch.get_num_threads() != 1:  # more than a submission may start would end its process
            torch.set_num_threads(1)
        yield ran.output, None if ran.failure is None else messages.plain_failure(ran.failure)

    def open(self, name: str) -> Iterator[Any]:
        """(what the name stands for, its value, the number of its subject), or None for a name that is not there."""
        if name not in self.notebook.names:
            yield None
            return
        thing = self.notebook.names[name]
        with time_limit(5.0):
            it = what_is(thing)
            self.subjects.append(LocalSubject(thing))
        value = thing if it.kind == "value" and _sendable(thing) else opaque(it.type)
        yield (it.kind, it.type, it.why), value, len(self.subjects) - 1

    def observe(
        self, subject: int, probes: tuple[Any, ...], state: Tensor | None, seconds: float
    ) -> Iterator[tuple[Any, ...]]:
        """One observation per probe; after one that failed no more."""
        for probe in probes:
            with self.limited(state, seconds):
                seen = self.subjects[subject].observe(messages.probe(probe))
                plain = messages.plain_observation(seen)
            yield plain
            if seen.failure is not None:
                return

    def call(
        self, subject: int, args: Any, layout: Any, before: Any, state: Tensor | None, seconds: float
    ) -> Iterator[Any]:
        with self.limited(state, seconds):
            plain = messages.plain_observation(self.subjects[subject].call(args, layout, before))
        yield plain

    def claims(self, subject: int, rule: Any) -> Iterator[bool]:
        with time_limit(5.0):
            claimed = bool(self.subjects[subject].claims(rule))
        yield claimed

    def be_watched(self, watch: tuple[int, float] | None) -> None:
        """Go on with a watch, or end the one before and begin this: None for none."""
        if watch is not None and watch == self.watch:
            return
        if self.spaces is not None and self.replaced:
            self.spaces.undo()
        if watch is None:
            self.spaces = self.until = None
        else:
            if self.spaces is None or self.replaced:
                self.spaces = Namespaces()
            self.until = time.process_time() + watch[1]
        self.watch, self.replaced = watch, []

    @contextlib.contextmanager
    def limited(self, state: Tensor | None, seconds: float) -> Iterator[None]:
        """The state of torch's generator as the trusted process has it, and what is left of the time."""
        if state is not None:
            torch.random.set_rng_state(state)
        left = seconds if self.until is None else max(0.02, self.until - time.process_time())
        with time_limit(left, of=seconds):
            yield


@contextlib.contextmanager
def _clocks_held() -> Iterator[None]:
    if not _CLOCKS:
        yield
        return
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _CLOCKS)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CLOCKS)


def _words(error: BaseException) -> tuple[str, str, str, str]:
    return messages.plain_failure(describe(error, "call"))


def _encoded(answer: tuple[Any, ...]) -> bytes:
    try:
        return encode(answer, FROM_HOST)
    except (TooLarge, ValueError, RuntimeError) as error:
        return encode((False, _words(error)), FROM_HOST)


def _sendable(value: Any) -> bool:
    try:
        encode(value, FROM_HOST)
    except (TooLarge, ValueError, RuntimeError):
        return False
    return True
