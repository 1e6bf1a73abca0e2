"""`grader check`: one implementation from a file, judged in a process of its own with limits on time and
memory.

This module has both ends. `check_file` is the command's side and does not import torch; `python -m
grader.loading` is the child that loads the file and writes one JSON object to a file of its own, away from
student prints.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.errors import GraderError

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["Outcome", "check_file"]

MEMORY_BYTES = 8 * 2**30


@dataclass(frozen=True)
class Outcome:
    """The verdict as Box B's JSON, and as text for a person."""

    verdict: dict[str, Any]
    text: str

    @property
    def passed(self) -> bool:
        return bool(self.verdict["passed"])


def check_file(exercise: str, path: Path, name: str | None = None, *, seconds: float = 60.0) -> Outcome:
    """Judge the implementation in `path`. GraderError where it cannot be checked: no such exercise, file
    or name."""
    if not path.is_file():
        raise GraderError(
            f"there is no file {path}. Give the path of a Python file that defines the exercise's symbol."
        )
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "verdict.json"
        ended = _run_child([exercise, str(path), name or "", str(seconds), str(answer)], seconds, Path(folder))
        result = json.loads(answer.read_text()) if answer.exists() else {}
    if "error" in result:
        raise GraderError(result["error"])
    if "verdict" in result:
        return Outcome(result["verdict"], result["text"])
    if "exercise" in result:
        return _no_answer(result["exercise"], result.get("reason", ended))
    raise GraderError(f"{exercise} could not be checked: before the file was read, {ended}.")


def _run_child(arguments: list[str], seconds: float, folder: Path) -> str:
    """Run the child to its end, and whatever it started with it; how it ended, in words."""
    errors = folder / "stderr.txt"
    with errors.open("wb") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", "grader.loading", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
        )
        try:
            code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"it did not come to an end within {seconds:g} s: likely an endless loop"
        finally:
            _kill_group(child)
    return _how_it_ended(code, errors.read_text(errors="replace"))


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Also processes that student code forked, which would go on for ever."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    elif child.poll() is None:
        child.kill()
    child.wait()


def _how_it_ended(code: int, stderr: str) -> str:
    if code < 0:
        most = f"{MEMORY_BYTES // 2**30} GB of memory"
        return f"it killed its process (signal {-code}): a crash, or more than {most}"
    last = (stderr.strip().splitlines() or [""])[-1][:200]
    return f"it ended its process without an answer (exit code {code}{': ' + last if last else ''})"


def _no_answer(exercise: dict[str, Any], reason: str) -> Outcome:
    message = f"The code gave no answer: {reason}."
    verdict = {
        "exercise": exercise["id"],
        "passed": False,
        "points": 0.0,
        "out_of": exercise["points"],
        "findings": [{"check": "runs", "passed": False, "message": message}],
        "diagnosis": [],
    }
    return Outcome(verdict, f"✗ {exercise['title']}: 0 of {exercise['points']} points\n  - runs: {message}")


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
        raise GraderError(f"{path} is not valid Python: {place}{error.msg}.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise GraderError(f"{path} is not a Python file: {error}.") from None
    except TimeLimit as limit:
        raise _Endless(f"the file itself did not come to an end: {limit}; likely an endless loop") from None
    except (Exception, SystemExit) as error:
        from grader.guard import describe

        raise GraderError(f"{path} could not be run: {describe(error, 'import')}.") from None
    if symbol not in namespace:
        others = [
            n for n, v in namespace.items() if not n.startswith("_") and getattr(v, "__module__", "") == "submission"
        ]
        have = (
            f"It defines {', '.join(others[:5])}; choose one with --name."
            if others
            else "It defines no class or function."
        )
        raise GraderError(f"{path} does not define {symbol}. {have}")
    return namespace[symbol]


def _child(exercise: Exercise, path: str, name: str, seconds: float) -> dict[str, Any]:
    from grader.battery import PUBLIC_SEED
    from grader.checking import verdict

    thing = load_symbol(Path(path), name or exercise.symbol, seconds=min(20.0, seconds / 3))
    report = verdict(exercise, thing, PUBLIC_SEED)
    return {"verdict": report.to_dict(), "text": report.text()}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _main(exercise: str, path: str, name: str, seconds: str, answer: str) -> None:
    """Write the verdict to the file `answer`; first, in case the code ends this process, what it is about."""
    from grader import corpus

    _limit_memory()
    process = os.getpid()
    result: dict[str, Any] = {}
    try:
        found = corpus.find(exercise)
        result = {"exercise": {"id": found.id, "title": found.title, "points": found.points}}
        Path(answer).write_text(json.dumps(result))
        result = _child(found, path, name, float(seconds))
    except GraderError as error:
        result = {"error": str(error)}
    except _Endless as error:
        result["reason"] = str(error)
    except Exception as error:
        result = {"error": f"the grader itself failed on {path}: {type(error).__name__}: {error}. Please report it."}
    if os.getpid() == process:
        Path(answer).write_text(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
    os._exit(0)
