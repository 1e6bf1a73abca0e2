"""`grader check`: one implementation from a file, judged in a process of its own with limits on time and
memory.

This module has both ends. `Child` is the command's side and does not import torch; `python -m grader.loading` is the
process itself: it loads what a judgement needs, reads what to judge from its stdin, and writes one JSON object to a
file of its own, away from student prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError
from grader.grading.group import kill_group
from grader.report import Finding, Report

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["Child", "FileProblem", "Wanted", "check_file"]

MEMORY_BYTES = 8 * 2**30
STARTING = 300.0  # seconds in which torch must have been loaded, on however busy a machine


class FileProblem(GraderError):
    """The file cannot be judged as it stands: absent, no valid Python, without the symbol. Another save may mend it."""


@dataclass(frozen=True)
class Wanted:
    """What to judge: what `path` calls `name` (None: the exercise's symbol), within so many seconds."""

    exercise: str
    path: Path
    name: str | None = None
    seconds: float = 60.0


def check_file(wanted: Wanted) -> Report:
    """Judge one implementation. GraderError where it cannot be checked: no such exercise, file or name."""
    _must_exist(wanted.path)
    with Child() as child:
        report = child.judge(wanted)
    assert report is not None
    return report


class Child:
    """A process that judges once. `ahead`: it loads all that a judgement may need while nobody waits for it yet.

    Close it in any case: that ends it and whatever it started.
    """

    def __init__(self, *, ahead: bool = False) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.answer, self.errors = (Path(self.folder.name) / name for name in ("verdict.json", "stderr.txt"))
        with self.errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "grader.loading", *(["ahead"] if ahead else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge(self, wanted: Wanted, outdated: Callable[[], bool] | None = None) -> Report | None:
        """The report. None if `outdated`, asked now and then, says that nobody wants it any more.

        GraderError where there is nothing to report on; FileProblem where that is due to the file.
        """
        _must_exist(wanted.path)
        request = [wanted.exercise, str(wanted.path), wanted.name or "", wanted.seconds, str(self.answer)]
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError), self.process.stdin as told:
            told.write(json.dumps(request).encode())  # it may have ended already: how, is seen below
        ended = self._end(wanted.seconds, outdated)
        if ended is None:
            return None
        result = json.loads(self.answer.read_text()) if self.answer.exists() else {}
        if "error" in result:
            raise (FileProblem if result["in_file"] else GraderError)(result["error"])
        if "report" in result:
            return Report.from_whole(result["report"])
        if "exercise" in result:
            return _no_answer(result["exercise"], result.get("reason", ended))
        raise GraderError(f"{wanted.exercise} could not be checked: before the file was read, {ended}.")

    def _end(self, seconds: float, outdated: Callable[[], bool] | None) -> str | None:
        """Wait until it ends; how it did, in words, or None. The time counts from when it reads the file."""
        until, begun = time.monotonic() + STARTING, False
        try:
            while time.monotonic() < until:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = self.process.wait(timeout=min(0.2, max(0.0, until - time.monotonic())))
                    return _how_it_ended(code, self.errors.read_text(errors="replace"))
                if outdated is not None and outdated():
                    return None
                if not begun and self.answer.exists():
                    until, begun = time.monotonic() + seconds, True
            if not begun:
                return f"its process was not ready after {STARTING:g} s"
            return f"it did not come to an end within {seconds:g} s: likely an endless loop"
        finally:
            kill_group(self.process)

    def close(self) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
        kill_group(self.process)  # also what student code forked, which would go on for ever
        self.folder.cleanup()


def _must_exist(path: Path) -> None:
    if not path.is_file():
        raise FileProblem(
            f"there is no file {path}. Give the path of a Python file that defines the exercise's symbol."
        )


def _how_it_ended(code: int, stderr: str) -> str:
    if code < 0:
        most = f"{MEMORY_BYTES // 2**30} GB of memory"
        return f"it killed its process (signal {-code}): a crash, or more than {most}"
    last = (stderr.strip().splitlines() or [""])[-1][:200]
    return f"it ended its process without an answer (exit code {code}{': ' + last if last else ''})"


def _no_answer(exercise: dict[str, Any], reason: str) -> Report:
    finding = Finding("runs", False, f"The code gave no answer: {reason}.")
    return Report(exercise["id"], exercise["title"], False, 0.0, exercise["points"], (finding,))


# ---- the child ---------------------------------------------------------------------------------------------------


class _Endless(Exception):
    """The file did not come to an end when it was run."""


def load_symbol(path: Path, symbol: str, *, seconds: float = 20.0) -> Any:
    """The object `symbol` of the Python file `path`, run as a module of its own."""
    from grader.guard import TimeLimit, time_limit, torch_unpatched

    namespace: dict[str, Any] = {"__name__": "submission", "__file__": str(path)}
    try:
        code = compile(path.read_bytes(), str(path), "exec")
        with time_limit(seconds), torch_unpatched():
            exec(code, namespace)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno else ""
        raise FileProblem(f"{path} is not valid Python: {place}{error.msg}.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise FileProblem(f"{path} is not a Python file: {error}.") from None
    except TimeLimit as limit:
        raise _Endless(f"the file itself did not come to an end: {limit}; likely an endless loop") from None
    except (Exception, SystemExit) as error:
        from grader.guard import describe

        raise FileProblem(f"{path} could not be run: {describe(error, 'import')}.") from None
    if symbol not in namespace:
        others = [
            n for n, v in namespace.items() if not n.startswith("_") and getattr(v, "__module__", "") == "submission"
        ]
        have = (
            f"It defines {', '.join(others[:5])}; choose one with --name."
            if others
            else "It defines no class or function."
        )
        raise FileProblem(f"{path} does not define {symbol}. {have}")
    return namespace[symbol]


def _child(exercise: Exercise, path: Path, name: str, seconds: float) -> dict[str, Any]:
    from grader.battery import PUBLIC_SEED
    from grader.checking import verdict, with_where

    thing = load_symbol(path, name or exercise.symbol, seconds=min(20.0, seconds / 3))
    return {"report": with_where(exercise, thing, verdict(exercise, thing, PUBLIC_SEED)).whole()}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _main() -> None:
    """Write the verdict to the file that is asked for; first, in case the code ends this process, what it is about."""
    from grader import corpus
    from grader.warm import warm

    _limit_memory()
    if sys.argv[1:] == ["ahead"]:
        warm()
    exercise, path, name, seconds, answer = json.loads(sys.stdin.buffer.read() or b"[]") or sys.exit()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the code finds nothing to read
    process = os.getpid()
    result: dict[str, Any] = {}
    try:
        found = corpus.find(exercise)
        result = {"exercise": {"id": found.id, "title": found.title, "points": found.points}}
        Path(answer).write_text(json.dumps(result))
        result = _child(found, Path(path), name, float(seconds))
    except GraderError as error:
        result = {"error": str(error), "in_file": isinstance(error, FileProblem)}
    except _Endless as error:
        result["reason"] = str(error)
    except Exception as error:
        text = f"the grader itself failed on {path}: {type(error).__name__}: {error}. Please report it."
        result = {"error": text, "in_file": False}
    if os.getpid() == process:
        Path(answer).write_text(json.dumps(result))


if __name__ == "__main__":
    _main()
    os._exit(0)
