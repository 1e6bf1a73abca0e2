"""Nothing is left running, whoever dies first: the submission, its keeper, the warm process or the host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.grading.level import Level
from grader.grading.sandbox import command
from tests.sandbox.levels import LEVELS, level_for, unavailable

# A warm process that ends its child itself as soon as that is confined, and tells what its wait status was.
ENDING = """
import os, signal, sys, time
from grader.grading.sandbox import Level, confine_child
read, write = os.pipe()
keeper = os.fork()
if keeper == 0:
    confine_child(Level.from_text(sys.argv[1]), keep_fds=[write])
    os.write(write, b"ready")
    while True:
        time.sleep(1)
os.close(write)
os.read(read, 5)
os.kill(keeper, signal.SIGTERM)
rest = os.read(read, 5)  # empty as soon as nobody holds the other end
print(rest == b"", os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1]))
"""

# A warm process with one child that waits for ever. The child says when it is confined; so that a process inside a
# namespace can be told from outside, its name is a mark.
WARM = """
import os, sys, time
from grader.grading.kernel import prctl
from grader.grading.sandbox import Level, confine_child
level, mark = Level.from_text(sys.argv[1]), sys.argv[2].encode()
keeper = os.fork()
if keeper == 0:
    confine_child(level)
    prctl(15, __import__("ctypes").c_char_p(mark))  # PR_SET_NAME
    print("ready", flush=True)
    while True:
        time.sleep(1)
print(keeper, flush=True)
os.waitpid(keeper, 0)
print("reaped", flush=True)
time.sleep(60)
"""


def named(mark: str) -> list[int]:
    found = subprocess.run(["pgrep", "--exact", mark], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def gone(mark: str) -> bool:
    """Whether the marked process ends, within a long while."""
    deadline = time.monotonic() + 20
    while named(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not named(mark)


@contextmanager
def started(level: Level, mark: str) -> Iterator[subprocess.Popen[str]]:
    """The warm process of `level`, once its child is confined."""
    argv = command(level, [sys.executable, "-c", WARM, level.as_text(), mark])
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True) as warm:
        assert warm.stdout is not None
        assert warm.stderr is not None
        lines = sorted(warm.stdout.readline() for _ in range(2))
        if "ready\n" not in lines:
            warm.kill()
            unavailable(f"{level.describe()} did not start: {warm.stderr.read()}")
        yield warm
        warm.kill()


@pytest.fixture(params=["bubblewrap", "bubblewrap-no-namespaces", "landlock-namespaces", "landlock"])
def level(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Level:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # a keeper that is killed outright removes no folder
    assert request.param in LEVELS
    return level_for(request.param, "me")


@pytest.fixture
def mark(request: pytest.FixtureRequest) -> str:
    return f"m{os.getpid()}x{abs(hash(request.node.name)) % 10000}"


def parent(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_killing_the_keeper_ends_the_submission(level: Level, mark: str, how: signal.Signals) -> None:
    with started(level, mark) as warm:
        (submission,) = named(mark)
        os.kill(parent(submission), how)
        assert warm.stdout is not None
        assert warm.stdout.readline() == "reaped\n"
        assert gone(mark)


def test_killing_the_warm_process_ends_the_submission(level: Level, mark: str) -> None:
    with started(level, mark):
        (submission,) = named(mark)
        os.kill(parent(parent(submission)), signal.SIGKILL)
        assert gone(mark)


def test_killing_what_the_host_started_ends_the_submission(level: Level, mark: str) -> None:
    with started(level, mark) as warm:
        warm.kill()
        assert gone(mark)


def test_the_warm_process_can_end_a_submission(level: Level) -> None:
    argv = command(level, [sys.executable, "-c", ENDING, level.as_text()])
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == f"True {-signal.SIGKILL}\n", done.stderr
