"""The trusted end: names of a submission's process as subjects that can be judged here.

`Link` is the conversation with one such process. It believes nothing: bytes are checked, answers must be in turn, every
wait has an end, and whatever goes wrong closes the conversation and is a failure of that submission, never an exception
that stops a run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
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
    watch      (a number, processor time in s): the limit of all requests of the same number; None for none
    replaced   what the requests of the watch have replaced in torch's namespaces so far
    """

    def __init__(self, channel: Channel, end: Callable[[bool], str], deadline: float) -> None:
        self.channel, self.end, self.deadline = channel, end, deadline
        self.sequence = 0
        self.watch: tuple[int, float] | None = None
        self.replaced: tuple[str, ...] = ()
        self.lost: Lost | None = None
        self._random: Tensor | None = None

    def ask(self, kind: Kind, *request: Any, until: float) -> Any:
        """The answer to a request. Raises Lost, or Refused where the process says that it failed."""
        good, value = self.answers(kind, *request, most=1, until=until)[0]
        if not good:
            raise Refused(messages.failure(value))
        return value

    def answers(self, kind: Kind, *request: Any, most: int, until: float) -> list[tuple[bool, Any]]:
        """From one to `most` answers to a request, each with whether it went well. Raises Lost."""
        until = min(until, self.deadline)
        found: list[tuple[bool, Any]] = []
        try:
            with self._conversation():
                functions = self._send(kind, (self.watch, *request), until)
                self._replies(functions, found, most, until)
        except Lost:
            if not found:  # else what was found before stands, and the next question is told
                raise
        return found

    def _send(self, kind: Kind, request: tuple[Any, ...], until: float) -> list[Callable[..., Any]]:
        """Send a request; the functions among its arguments."""
        self.sequence += 1
        functions: list[Callable[..., Any]] = []
        body = encode(request, FROM_TRUSTED, functions)
        self.channel.send(Frame(kind, self.sequence, body), deadline=until)
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

    def _replies(
        self, functions: list[Callable[..., Any]], found: list[tuple[bool, Any]], most: int, until: float
    ) -> None:
        """Wait for the replies; meanwhile run the functions of the request when the process asks for it."""
        for _ in range(_REVERSE_CALLS + most):
            frame = self.channel.receive(until)
            if frame.sequence != self.sequence:
                raise ProtocolError("an answer out of turn")
            if frame.kind == Kind.REPLY and len(found) < most:
                found.append(messages.answer(decode(frame.body, FROM_HOST)))
            elif frame.kind == Kind.DONE and found:
                self.replaced = messages.texts(decode(frame.body, FROM_HOST))
                return
            elif frame.kind in (Kind.APPLY, Kind.VJP):
                answer = Frame(frame.kind, self.sequence, _run(frame, functions))
                self.channel.send(answer, deadline=until)
            else:
                raise ProtocolError("an answer out of turn")
        raise ProtocolError(f"more than {_REVERSE_CALLS} calls of a function that it was given")

    def _lose(self, kind: str, reason: str) -> Lost:
        """End the process and the conversation; without a reason the process ended itself."""
        how, self.replaced = self.end(not reason), ()
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

    distant = True

    def __init__(self, link: Link, number: int, is_function: bool) -> None:
        self.link, self.number, self.is_function = link, number, is_function
        self._seconds = SECONDS
        self._until: float | None = None

    def observe(self, probe: Probe) -> Observation:
        return self.observe_each((probe,))[0]

    def observe_each(self, probes: Sequence[Probe]) -> list[Observation]:
        seen: list[Observation] = []
        if not probes:  # a question without an answer would leave the conversation out of step
            return seen
        answers = self._ask(Kind.OBSERVE, "forward", tuple(map(messages.plain_probe, probes)), most=len(probes))
        for one, probe in zip(answers, probes, strict=False):
            try:
                messages.on_device(one, probe.device)
                messages.fits(one, probe)
                seen.append(one)
            except ProtocolError as error:
                seen.append(Observation(failure=Failure("forward", "ProtocolError", str(error))))
            if seen[-1].failure is not None:
                return seen
        if len(seen) < len(probes):
            seen.append(Observation(failure=self._why_no_more()))
        return seen

    def _why_no_more(self) -> Failure:
        lost = self.link.lost
        return Failure("forward", *(("ProtocolError", "too few answers") if lost is None else (lost.kind, str(lost))))

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        (seen,) = self._ask(Kind.CALL, "call", args, layout, before)
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
        self.link.watch, self.link.replaced = (self.link.sequence, seconds), ()
        patched: list[str] = []
        try:
            yield patched
        finally:
            patched += self.link.replaced
            self.link.watch = None
            self._seconds, self._until = SECONDS, None

    def _limit(self) -> float:
        return time.monotonic() + _clock(self._seconds) if self._until is None else self._until

    def _ask(self, kind: Kind, stage: str, *request: Any, most: int = 1) -> list[Observation]:
        try:
            state = self.link.random_numbers()
            request = (self.number, *request, state, self._seconds)
            answers = self.link.answers(kind, *request, most=most, until=self._limit())
        except Lost as lost:
            return [Observation(failure=Failure(stage, lost.kind, str(lost)))]
        return [_observation(good, value, stage) for good, value in answers]


def _observation(good: bool, value: Any, stage: str) -> Observation:
    try:
        return messages.observation(value) if good else Observation(failure=messages.failure(value))
    except ProtocolError as error:
        return Observation(failure=Failure(stage, "ProtocolError", str(error)))


def _clock(seconds: float) -> float:
    """How long to wait for code that may use so many seconds of processor time: it gives up by itself before."""
    return 3 * seconds + 5.0
