"""macOS and Windows, as far as Linux can play them: what a learner and `grader doctor` need is imported without the
modules, calls and signals that only some systems have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# Other people's packages know their systems: they are loaded before the names go, ours after it.
AS_ON_WINDOWS = """
import importlib, os, signal, socket, sys

OURS = (
    "grader.cli",
    "grader.checking",
    "grader.classroom.run",
    "grader.classroom.commands",
    "grader.grading.doctor",
    "grader.loading",
)
for name in OURS:
    importlib.import_module(name)
for name in [n for n in sys.modules if n.split(".")[0] == "grader"]:
    del sys.modules[name]
for name in ("fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "syslog"):
    sys.modules[name] = None
KEPT = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
for name in dir(signal):
    if (name.startswith("SIG") and name not in KEPT) or name in ("alarm", "setitimer", "pthread_sigmask"):
        delattr(signal, name)
for name in ("fork", "killpg", "setsid", "geteuid", "getuid", "sched_getaffinity", "uname", "waitid", "O_PATH"):
    delattr(os, name)
del socket.AF_UNIX, socket.send_fds, socket.recv_fds
for name in OURS:
    importlib.import_module(name)
"""

REFUSED = """
sys.platform = "win32"
from grader.errors import GraderError
from grader.grading.sandbox import choose_level
try:
    choose_level()
except GraderError as error:
    print(error)
print(choose_level(unsafe=True).describe())
"""

CHECKED = """
import torch
from torch.autograd import Function
from grader import check

class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g

print(check("double", Double).passed)
"""

HELD = """
import sys
from pathlib import Path
from grader.classroom.folder import ClassFolder
folder = ClassFolder(Path(sys.argv[1]))
with folder.locked():
    print("held", flush=True)
    sys.stdin.read()
"""


def run(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_commands_are_imported_and_the_missing_sandbox_is_explained() -> None:
    said = run(AS_ON_WINDOWS + REFUSED)
    assert "there is no sandbox for win32; Linux has one" in said
    assert "--unsafe runs them with your rights" in said
    assert said.splitlines()[-1] == "none: student code runs with your rights"


def test_an_answer_is_checked_without_clocks_and_limits() -> None:
    assert run(AS_ON_WINDOWS + CHECKED).split() == ["True"]


@pytest.mark.skipif(sys.platform == "win32", reason="a killed process is ended in another way there")
def test_the_lock_of_a_killed_run_is_gone(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HELD, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert first.stdout is not None
    assert first.stdin is not None
    assert first.stdout.readline() == "held\n"
    second = [sys.executable, "-c", HELD, str(tmp_path)]
    refused = subprocess.run(second, input="", capture_output=True, text=True, timeout=60)
    assert "another run is working in" in refused.stderr
    first.kill()
    first.wait(timeout=30)
    first.stdout.close()
    first.stdin.close()
    assert subprocess.run(second, input="", capture_output=True, text=True, timeout=60).stdout == "held\n"
