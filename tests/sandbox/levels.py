"""Levels and users that the attempts are made with. In CI a sandbox that does not work is a failure, else a skip."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest

from grader.grading import landlock
from grader.grading.level import Level
from grader.grading.readable import PACKAGE

HERE = Path(__file__).parent
Run = Callable[..., dict[str, Any]]

LEVELS = {
    "bubblewrap": Level("bubblewrap", namespaces=True),
    "bubblewrap-mapped-root": Level("bubblewrap", namespaces=True),
    "bubblewrap-no-namespaces": Level("bubblewrap"),
    "landlock-namespaces": Level("landlock", namespaces=True),
    "landlock": Level("landlock"),
}
USERS = ("me", "ordinary")
BOTH = [(name, user) for name in LEVELS for user in USERS if (name, user) != ("bubblewrap-mapped-root", "ordinary")]


def unavailable(why: str) -> NoReturn:
    """Skip, or fail in CI, where everything the tests need is installed."""
    if os.environ.get("CI") == "true":
        pytest.fail(why)
    pytest.skip(why)


def level_for(name: str, user: str) -> Level:
    """The level of that name for "me" or an "ordinary" user: as root, bubblewrap's children become nobody."""
    nobody = name == "bubblewrap" and user == "me" and os.geteuid() == 0
    return replace(LEVELS[name], landlock=landlock.abi(), nobody=nobody)


def python_as(user: str, *arguments: str, text: str = "") -> str:
    """Stdout of Python run with `arguments` as "me" or as an ordinary user; fails with its stderr."""
    argv = [sys.executable, *arguments]
    if user == "ordinary" and os.geteuid() == 0:
        argv = [sys.executable, str(HERE / "ordinary.py"), *argv]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "GRADER_CLASS_SECRET": "the-class-secret"}
    done = subprocess.run(argv, input=text, env=environment, capture_output=True, text=True, timeout=200, check=False)
    if done.returncode and "ordinary.py" in done.stderr:  # no right to make the mount namespace it needs
        unavailable(done.stderr)
    assert done.returncode == 0, done.stderr or done.stdout
    return done.stdout


@functools.cache
def _require(level: Level, user: str) -> None:
    """Skip where the level does not start; fail where it starts and does not hold."""
    code = f"""
import json
from grader.grading.sandbox import Level, try_level
print(json.dumps(try_level(Level.from_text({level.as_text()!r}))["broken"]))
"""
    broken = json.loads(python_as(user, "-c", code))
    if any(reason.startswith("student code could") for reason in broken):
        pytest.fail("; ".join(broken))
    if broken:
        unavailable("; ".join(broken))


@functools.cache
def _run(level: Level, user: str, request: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(python_as(user, str(HERE / "runner.py"), text=request))
    return answer


def attempt(level: Level, user: str, codes: dict[str, str], **limits: int) -> dict[str, Any]:
    """What became of `codes` at `level`; the same request is run once."""
    if sys.platform != "linux":
        unavailable("the sandbox is Linux's")
    _require(level, user)
    return _run(level, user, json.dumps({"level": level.as_text(), "codes": codes, "limits": limits}))
