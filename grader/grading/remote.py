"""The trusted end: names of a submission's process as subjects that can be judged here.

`Link` is the conversation with one such process. It believes nothing: bytes are checked, answers must be in turn, every
wait has an end, and whatever goes wrong closes the conversation and is a failure of that submission, never an exception
that stops a run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch
from torch import Tensor

from grader.grading import callables, messages
from grader.grading.channel import Channel, Closed, Frame, Kind, TimedOut
from grader.grading.wire import FROM_HOST, FROM_TRUSTED, ProtocolError, TooLarge, decode, encode
from grader.subject import ENDLESS, GONE, Args, Failure, Layout, Observation, Probe

__all__ = ["Link", "Lost", "Refused", "RemoteSubject"]

SECONDS = 10.0
"""Processor time of one request where no other limit was set."""
_REVERSE_CALLS = 50_000


class Lost(Exception):
    """The submission's process is gone, or was ended because it did not answer or not as it must."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Refused(Exception):
    """The process answered that the request failed there."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Link:
    """A conversation with one submission's process.

    end        ends the process for good; told whether it ended itself, it says in words how, or ""
    deadline   a time.monotonic() at which all of it must be over
    """

    def __init__(self, channel: Channel, end: Callable[[bool], str], deadline: float) -> None:
        self.channel, self.end, self.deadline = channel, end, deadline
        self.sequence = 0
        self.lost: Lost | None = None
        self._random: Tensor | None = None

    def ask(self, kind: Kind, *request: Any, until: float) -> Any:
        """The answer to a request. Raises Lost, or Refused where the process says that it failed."""
        with self._conversation():
            functions = self._send(kind, request, min(until, self.deadline))
            good, value = messages.answer(self._reply(functions, min(until, self.deadline)))
        if not good:
            raise Refused(messages.failure(value))
        return value

    def tell(self, kind: Kind, *request: Any, until: float) -> None:
        """Send what has no answer. Raises Lost."""
        with self._conversation():
            self._send(kind, request, min(until, self.deadline))

    def _send(self, kind: Kind, request: tuple[Any, ...], until: float) -> list[Callable[..., Any]]:
        """Send a request; the functions among its arguments."""
        self.sequence += 1
        functions: list[Callable[..., Any]] = []
        self.channel.send(kind, self.sequence, encode(request, FROM_TRUSTED, functions), until)
        return functions

    @contextlib.contextmanager
    def _conversation(self) -> Iterator[None]:
        """Whatever goes wrong in the block ends the process, and is Lost."""
        if self.lost is not None:
            raise self.lost
        try:
            yield
        except (ProtocolError, TooLarge) as error:
            raise self._lose(GONE, f"it broke the protocol ({error})") from None
        except Closed:
            raise self._lose(GONE, "") from None
        except TimedOut:
            raise self._lose(ENDLESS, "no answer, and no reaction to the time limit") from None
        except BaseException:  # stopped from outside in the middle of a frame: there is no way on
            self._lose(ENDLESS, "stopped")
            raise

    def _reply(self, functions: list[Callable[..., Any]], until: float) -> Any:
        """Wait for the reply; meanwhile run the functions of the request when the process asks for it."""
        for _ in range(_REVERSE_CALLS):
            frame = self.channel.receive(until)
            if frame.sequence != self.sequence or frame.kind not in (Kind.REPLY, Kind.APPLY, Kind.VJP):
                raise ProtocolError("an answer out of turn")
            if frame.kind == Kind.REPLY:
                return decode(frame.body, FROM_HOST)
            answer = _run(frame, functions)
            self.channel.send(frame.kind, self.sequence, answer, until)
        raise ProtocolError(f"more than {_REVERSE_CALLS} calls of a function that it was given")

    def _lose(self, kind: str, reason: str) -> Lost:
        """End the process and the conversation; without a reason the process ended itself."""
        how = self.end(not reason)
        self.channel.close()
        self.lost = Lost(kind, reason or how or "nobody knows how")
        return self.lost

    def random_numbers(self) -> Tensor | None:
        """The state of torch's generator, which the process shall have too; None where it has it already."""
        now = torch.get_rng_state()
        if self._random is not None and torch.equal(now, self._random):
            return None
        self._random = now
        return now

    def close(self) -> None:
        """End the process, if it is still there."""
        if self.lost is None:
            self.lost = Lost(GONE, "it was ended")
            self.end(False)
            self.channel.close()


def _run(frame: Frame, functions: list[Callable[..., Any]]) -> bytes:
    """The answer to a process that asks for one of the functions it was given."""
    request = decode(frame.body, FROM_HOST)
    if type(request) is not tuple or len(request) != 2:
        raise ProtocolError("not a call")
    index, args = request
    if type(index) is not int or not 0 <= index < len(functions) or type(args) is not tuple:
        raise ProtocolError("no such function")
    run = callables.apply if frame.kind == Kind.APPLY else callables.vjp
    try:
        return encode(run(functions[index], args), FROM_TRUSTED)
    except TooLarge as error:
        return encode((False, "MemoryError", f"the result is too large: {error}"), FROM_TRUSTED)


class RemoteSubject:
    """Subject number `number` of a submission's process."""

    def __init__(self, link: Link, number: int, is_function: bool) -> None:
        self.link, self.number, self.is_function = link, number, is_function
        self._seconds = SECONDS
        self._until: float | None = None

    def observe(self, probe: Probe) -> Observation:
        seen = self._ask(Kind.OBSERVE, "forward", messages.plain_probe(probe))
        try:
            messages.on_device(seen, probe.device)
            messages.fits(seen, probe)
        except ProtocolError as error:
            seen = Observation(failure=Failure("forward", "ProtocolError", str(error)))
        return seen

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        seen = self._ask(Kind.CALL, "call", args, layout, before)
        try:
            messages.on_device(seen, "cpu")
        except ProtocolError as error:
            seen = Observation(failure=Failure("call", "ProtocolError", str(error)))
        return seen

    def claims(self, rule: Literal["vmap", "jvp"]) -> bool:
        try:
            return messages.boolean(self.link.ask(Kind.CLAIMS, self.number, rule, until=self._limit()))
        except (Lost, Refused, ProtocolError):
            return False

    @contextlib.contextmanager
    def watched(self, seconds: float) -> Iterator[list[str]]:
        self._seconds, self._until = seconds, time.monotonic() + _clock(seconds)
        patched: list[str] = []
        try:
            with contextlib.suppress(Lost):
                self.link.tell(Kind.WATCH, seconds, until=self._limit())
            yield patched
        finally:
            with contextlib.suppress(Lost, Refused, ProtocolError):
                patched += messages.texts(self.link.ask(Kind.UNWATCH, until=self._limit() + SECONDS))
            self._seconds, self._until = SECONDS, None

    def _limit(self) -> float:
        return time.monotonic() + _clock(self._seconds) if self._until is None else self._until

    def _ask(self, kind: Kind, stage: str, *request: Any) -> Observation:
        try:
            answer = self.link.ask(
                kind, self.number, *request, self.link.random_numbers(), self._seconds, until=self._limit()
            )
            return messages.observation(answer)
        except Lost as lost:
            return Observation(failure=Failure(stage, lost.kind, str(lost)))
        except Refused as refused:
            return Observation(failure=refused.failure)
        except ProtocolError as error:
            return Observation(failure=Failure(stage, "ProtocolError", str(error)))


def _clock(seconds: float) -> float:
    """How long to wait for code that may use so many seconds of processor time: it gives up by itself before."""
    return 3 * seconds + 5.0
