"""`grader check`: one implementation from a file, judged in a process of its own with limits on time and
memory.

This module has both ends. `check_file` is the command's side and does not import torch; `python -m
grader.loading` is the child that loads the file and writes one JSON object to a file descriptor of its
own, away from student prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError

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
        command = [sys.executable, "-m", "grader.loading", exercise, str(path), name or "", str(answer)]
        try:
            done = subprocess.run(
                command,
                timeout=seconds,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return _no_answer(exercise, f"it did not come to an end within {seconds:g} s: likely an endless loop")
        if not answer.exists():
            return _no_answer(exercise, _how_it_ended(done))
        result = json.loads(answer.read_text())
    if "error" in result:
        raise GraderError(result["error"])
    return Outcome(result["verdict"], result["text"])


def _how_it_ended(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        most = f"{MEMORY_BYTES // 2**30} GB of memory"
        return f"it killed its process (signal {-done.returncode}): a crash, or more than {most}"
    last = (done.stderr.strip().splitlines() or [""])[-1][:200]
    return f"it ended its process without an answer (exit code {done.returncode}{': ' + last if last else ''})"


def _no_answer(exercise: str, reason: str) -> Outcome:
    from grader import corpus

    found = corpus.find(exercise)
    message = f"The code gave no answer: {reason}."
    verdict = {
        "exercise": exercise,
        "passed": False,
        "points": 0.0,
        "out_of": found.points,
        "findings": [{"check": "runs", "passed": False, "message": message}],
        "diagnosis": [],
    }
    return Outcome(verdict, f"✗ {found.title}: 0 of {found.points} points\n  - runs: {message}")


# ---- the child ---------------------------------------------------------------------------------------------------


def load_symbol(path: Path, symbol: str) -> Any:
    """The object `symbol` of the Python file `path`, run as a module of its own."""
    from grader.guard import TimeLimit, time_limit, torch_unpatched

    namespace: dict[str, Any] = {"__name__": "submission", "__file__": str(path)}
    try:
        code = compile(path.read_bytes(), str(path), "exec")
        with time_limit(20.0), torch_unpatched():
            exec(code, namespace)
    except SyntaxError as error:
        place = f"line {error.lineno}: " if error.lineno else ""
        raise GraderError(f"{path} is not valid Python: {place}{error.msg}.") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise GraderError(f"{path} is not a Python file: {error}.") from None
    except (Exception, SystemExit, TimeLimit) as error:
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


def _child(exercise_id: str, path: str, name: str) -> dict[str, Any]:
    from grader import corpus
    from grader.battery import PUBLIC_SEED
    from grader.checking import verdict

    try:
        exercise = corpus.find(exercise_id)
        thing = load_symbol(Path(path), name or exercise.symbol)
    except GraderError as error:
        return {"error": str(error)}
    report = verdict(exercise, thing, PUBLIC_SEED)
    return {"verdict": report.to_dict(), "text": report.text()}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _main(exercise: str, path: str, name: str, answer: str) -> None:
    _limit_memory()
    pid = os.getpid()
    try:
        result = _child(exercise, path, name)
    except Exception as error:
        result = {"error": f"the grader itself failed on {path}: {type(error).__name__}: {error}. Please report it."}
    if os.getpid() == pid:
        Path(answer).write_text(json.dumps(result))


if __name__ == "__main__":
    _main(*sys.argv[1:])
    os._exit(0)
