"""Try a level for real: `python -m grader.grading.probe LEVEL [CHILDREN] [MODULE]`, started as a warm process would be.

Forks a child, confines it, and has it attempt what it must not be able to do. Prints one JSON object: `broken` lists
the promises that do not hold (or why the child could not be confined); `warm` the seconds to import MODULE, `child`
the milliseconds from fork to reaped, the median over CHILDREN.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.grading.confine import confine_child
from grader.grading.level import Level

__all__ = ["broken_promises", "main"]


def _opens_a_network_socket() -> object:
    return socket.socket(socket.AF_INET)


def _writes_beside_its_own_code() -> object:
    return (Path(__file__).parent / "left-behind").open("w")


def _writes_to_var_tmp() -> object:
    return Path("/var/tmp/grader-left-behind").open("w")


def _reads_the_references() -> object:
    return (Path(__file__).parent.parent / "battery.py").read_bytes()


def broken_promises(level: Level, parent: int) -> list[str]:
    """What the calling, confined process could do though it must not; empty if all is well."""
    if level.name == "none":
        return []
    attempts: list[tuple[str, Callable[[], Any]]] = [
        ("open a network socket", _opens_a_network_socket),
        ("write beside the package's code", _writes_beside_its_own_code),
        ("write to /var/tmp", _writes_to_var_tmp),
        ("read the references and tolerances", _reads_the_references),
        ("signal another process", lambda: os.kill(parent, 0)),
    ]
    return [f"student code could {what}" for what, attempt in attempts if _succeeds(attempt)]


def _succeeds(attempt: Callable[[], Any]) -> bool:
    try:
        attempt()
    except OSError:
        return False
    return True


def _confined(level: Level, out: int) -> None:
    """In the forked child: confine, attempt, tell."""
    parent = os.getppid()
    try:
        confine_child(level, keep_fds=[out])
        told = broken_promises(level, parent)
    except Exception as error:
        told = [f"{type(error).__name__}: {error}"]
    os.write(out, json.dumps(told).encode())


def _child(level: Level) -> list[str]:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read)
            _confined(level, write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answer:
        text = answer.read()
    os.waitpid(pid, 0)
    return list(json.loads(text)) if text else ["the confined child died without a word"]


def main(arguments: list[str]) -> None:
    """Run the module's command line."""
    level = Level.from_text(arguments[0])
    children, module = [*arguments[1:], *("1", "")[len(arguments) - 1 :]]
    signal.alarm(60)  # whoever started this may be gone
    start = time.perf_counter()
    if module:
        importlib.import_module(module)
    warm, broken, times = time.perf_counter() - start, list[str](), list[float]()
    for _ in range(int(children)):
        start = time.perf_counter()
        broken += _child(level)
        times.append(1000 * (time.perf_counter() - start))
    print(json.dumps({"broken": sorted(set(broken)), "warm": warm, "child": statistics.median(times)}))


if __name__ == "__main__":
    main(sys.argv[1:])
