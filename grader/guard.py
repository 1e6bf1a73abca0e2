"""Running student code so that it cannot disturb what comes after: state restored, output caught, time
limited.

A guard for honest mistakes, not a sandbox: hostile code is for the grading run's separate process.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import operator
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
import torch.utils._device

from grader.subject import ENDLESS, Failure

__all__ = [
    "FORKED",
    "Namespaces",
    "Seen",
    "TimeLimit",
    "describe",
    "guarded",
    "memory_limit",
    "one_thread",
    "original_torch",
    "random_kept",
    "time_limit",
    "torch_unpatched",
]

_GRADER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_TORCH = os.path.dirname(os.path.abspath(torch.__file__)) + os.sep


class TimeLimit(BaseException):
    """Raised inside code that ran too long; no `except Exception` of the student swallows it."""


@dataclass
class Seen:
    """What guarded code did on the side."""

    printed: str = ""
    warnings: tuple[str, ...] = ()
    state_changes: tuple[str, ...] = ()


FORKED = "how many processes there are (os.fork)"
_STATE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "the default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "the gradient mode": (torch.is_grad_enabled, torch._C._set_grad_enabled),
    "the random seed": (torch.initial_seed, lambda _: None),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
    "the deterministic flag": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "anomaly detection": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
    "the default device": (lambda: torch.utils._device.CURRENT_DEVICE, torch.set_default_device),
    FORKED: (lambda: _forks, lambda _: None),
}
_PATCHABLE = (
    torch,
    torch.autograd,
    torch.nn.functional,
    torch.Tensor,
    sys.modules["torch.autograd.function"],
)


_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_parent=_count_fork)


@contextlib.contextmanager
def random_kept() -> Iterator[None]:
    """Put the random generators of Python and NumPy back where they stood; `guarded` does so with torch's."""
    python_state, numpy_state = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)


@contextlib.contextmanager
def _logging_off() -> Iterator[None]:
    """No log message of student code: its handlers write to the stderr they found, which may not be ours."""
    # Not logging.disable(): it clears a cache of every logger there is, each time.
    handlers: Any = logging.Logger.callHandlers
    logging.Logger.callHandlers = _no_handlers  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        logging.Logger.callHandlers = handlers  # type: ignore[method-assign]


def _no_handlers(_self: logging.Logger, _record: logging.LogRecord) -> None:
    """In place of what hands a log message to whoever shows it."""


@contextlib.contextmanager
def _state_kept(seen: Seen) -> Iterator[None]:
    before = {name: get() for name, (get, _) in _STATE.items()}
    numbers = torch.get_rng_state()
    try:
        yield
    finally:
        changed = [name for name, (get, _) in _STATE.items() if get() != before[name]]
        for name in changed:
            _STATE[name][1](before[name])
        torch.set_rng_state(numbers)
        seen.state_changes += tuple(changed)


class Namespaces:
    """torch's public namespaces as they are when it is made, so that what is replaced later can be undone.

    torch replaces a few of its own functions when it loads its lazy parts; what comes from torch is left alone.
    """

    def __init__(self) -> None:
        self._before = [dict(vars(space)) for space in _PATCHABLE]

    def replaced(self) -> list[str]:
        """The names of what was replaced since."""
        return [f"{getattr(space, '__name__', 'torch')}.{name}" for space, name, _ in self._changes()]

    def undo(self) -> None:
        """Put everything back."""
        for space, name, old in self._changes():
            _put(space, name, old)

    def _changes(self) -> list[tuple[Any, str, dict[str, Any]]]:
        pairs = zip(_PATCHABLE, self._before, strict=True)
        return [(space, name, old) for space, old in pairs for name in _replaced(space, old)]


@contextlib.contextmanager
def torch_unpatched() -> Iterator[list[str]]:
    """Undo, on leaving, whatever was replaced in torch's public namespaces; the list then names what it was."""
    spaces, changed = Namespaces(), list[str]()
    try:
        yield changed
    finally:
        changed += spaces.replaced()
        if changed:
            spaces.undo()


def _replaced(space: Any, old: dict[str, Any]) -> list[str]:
    """The names in a namespace that stand for something else than in `old`, and not something of torch's."""
    now = vars(space)
    if len(now) == len(old) and all(map(operator.is_, now.values(), old.values())):  # nearly always, and fast
        return []
    hiding = [n for n in now if n not in old] if isinstance(space, type) else []  # methods that hide inherited ones
    return [n for n in (*old, *hiding) if now.get(n) is not old.get(n) and not _is_torch(now.get(n))]


def _put(space: Any, name: str, values: dict[str, Any]) -> None:
    if name in values:
        setattr(space, name, values[name])
    elif name in vars(space):
        delattr(space, name)


_ORIGINAL = [dict(vars(space)) for space in _PATCHABLE]


@contextlib.contextmanager
def original_torch() -> Iterator[None]:
    """Judge with torch's functions as they were when this module was imported, whatever a notebook put there."""
    theirs = [dict(vars(space)) for space in _PATCHABLE]
    replaced = [
        (space, name, original, now)
        for space, original, now in zip(_PATCHABLE, _ORIGINAL, theirs, strict=True)
        for name in _replaced(space, original)
        if not name.startswith("_") and callable(original.get(name, now.get(name)))
    ]
    for space, name, original, _ in replaced:
        _put(space, name, original)
    try:
        yield
    finally:
        for space, name, _, now in replaced:
            _put(space, name, now)


def _is_torch(value: Any) -> bool:
    return str(getattr(value, "__module__", "")).split(".")[0] == "torch"


@contextlib.contextmanager
def guarded() -> Iterator[Seen]:
    """Catch what is printed and warned, restore torch's global state, and say what was seen."""
    seen, process = Seen(), os.getpid()
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(record=True) as caught,
        _logging_off(),
        _state_kept(seen),
    ):
        # Python's and NumPy's generators start where torch's seed puts them, in whatever process this is.
        random.seed(torch.initial_seed())
        np.random.seed(torch.initial_seed() % 2**32)
        warnings.simplefilter("always")
        try:
            yield seen
        finally:
            if os.getpid() != process:
                os._exit(1)  # a child that student code forked must not go on with our work
    seen.printed = (out.getvalue() + err.getvalue())[:2000]
    seen.warnings = tuple(str(w.message).splitlines()[0] for w in caught[:5])


@contextlib.contextmanager
def time_limit(seconds: float | None, *, of: float | None = None) -> Iterator[None]:
    """Raise TimeLimit in the block after `seconds` of processor time, or three times that on the clock.

    Processor time, so that a busy machine turns no right answer into an endless loop; three times as long
    on the clock, for code that waits. Where the time is over while something is being put back, the error
    waits until that is done, a second at most. Does nothing off the main thread or where there are no
    interval timers.
    """
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not usable:
        yield
        return

    armed, rang, waited = True, False, False
    limit = f"no answer after {of or seconds:g} s"
    outside = sys._getframe(2)

    def ring(_number: int, frame: FrameType | None) -> None:
        nonlocal rang, waited
        if armed:
            rang = True
            waited = not waited and _puts_back(frame, outside)
            if not waited:
                raise TimeLimit(limit)

    alarms = (
        (signal.SIGPROF, signal.ITIMER_PROF, seconds),
        (signal.SIGALRM, signal.ITIMER_REAL, 3 * seconds),
    )
    start = time.process_time(), time.monotonic()
    handlers = [signal.signal(number, ring) for number, _, _ in alarms]
    # again and again, for code that catches everything
    timers = [signal.setitimer(timer, after, 1.0) for _, timer, after in alarms]
    try:
        yield
    finally:
        armed = False
        spent = time.process_time() - start[0], time.monotonic() - start[1]
        for (number, timer, _), handler in zip(alarms, handlers, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)
        for (_, timer, _), (left, every), gone in zip(alarms, timers, spent, strict=True):
            if left:  # somebody else's alarm, which goes on where it was interrupted
                signal.setitimer(timer, max(left - gone, 0.001), every)
    if rang:  # and the code caught it, or it came while something was put back
        raise TimeLimit(limit)


def _puts_back(frame: FrameType | None, outside: FrameType) -> bool:
    """Whether a context manager is being entered or left, in a frame or in what called it, up to `outside`."""
    while frame is not None and frame is not outside:
        if frame.f_code.co_filename in (__file__, contextlib.__file__):
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def memory_limit(extra: int) -> Iterator[None]:
    """Let the process grow by at most `extra` bytes of address space in the block; MemoryError or torch's
    RuntimeError beyond. Does nothing where the system cannot say how large the process is."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        yield
        return
    most = pages * resource.getpagesize() + extra
    if soft == resource.RLIM_INFINITY or most < soft:
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Run torch on one thread: the tensors are tiny, and waiting for other threads costs more than they
    bring."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def describe(error: BaseException, stage: str) -> Failure:
    """A Failure that names the line of student code the exception came through last."""
    name = ENDLESS if isinstance(error, TimeLimit) else type(error).__name__
    try:
        text = str(error)
    except Exception:
        text = "(its message could not be read)"
    return Failure(stage, name, text, _student_line(error))


def _student_line(error: BaseException) -> str:
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        file = frame.f_code.co_filename
        if not file.startswith((_TORCH, _GRADER)) and not file.startswith(("<frozen", sys.base_prefix)):
            source = linecache.getline(file, number, frame.f_globals).strip()
            return f"line {number}: {source}" if source else f"line {number}"
    return ""
