"""Hostile code at every level, as root and as an ordinary user: what it must not get, and what it may still do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from grader.grading.level import Level
from tests.sandbox.attempts import FORBIDDEN, REFUSED, numbered
from tests.sandbox.levels import Run, attempt, level_for

FORBIDDEN_CODES = {name: numbered(code) for name, code in FORBIDDEN.items()}
REFUSED_CODES = {name: numbered(code) for name, code in REFUSED.items()}


@pytest.fixture(scope="module")
def unconfined() -> dict[str, Any]:
    return attempt(Level("none"), "ordinary", FORBIDDEN_CODES)


@pytest.mark.parametrize("name", FORBIDDEN)
def test_each_attempt_works_without_a_sandbox(unconfined: dict[str, Any], name: str) -> None:
    assert "error" not in unconfined[name], unconfined[name]


def test_no_attempt_succeeds_in_the_sandbox(run: Run) -> None:
    answers = run(CODES)
    succeeded = {name: answers[name] for name in FORBIDDEN if "error" not in answers[name]}
    assert not succeeded
    odd = {name: answers[name] for name in FORBIDDEN if answers[name]["error"] not in EXPECTED_ERRORS}
    assert not odd, "an attempt that fails by a slip of its own proves nothing"


EXPECTED_ERRORS = {
    "FileNotFoundError",  # not there at all
    "PermissionError",  # there, and closed
    "ProcessLookupError",  # another process id namespace
    "OSError",  # a read-only file system
    "ModuleNotFoundError",  # the parts of the package that hold answers
    "ConnectionRefusedError",  # another network namespace: nobody listens
}


def test_the_class_is_as_it_was(run: Run) -> None:
    answers = run(CODES)
    for place in ("folder", "in_tmp"):
        assert answers[f"contents {place}"] == ["the-class-secret", "kept"]
        assert answers[f"files {place}"] == sorted(["gradebook.db", "spare"] + ["socket"] * (place == "folder"))


def test_dangerous_system_calls_are_refused(run: Run) -> None:
    answers = run(CODES)
    assert {name: answers[name].get("text") for name in REFUSED} == dict.fromkeys(
        REFUSED, "[Errno 1] Operation not permitted"
    )


def test_the_environment_is_clean(run: Run) -> None:
    code = (
        "import os; did = [dict(os.environ), open('/proc/self/environ').read() if os.path.exists('/proc/self') else '']"
    )
    answer = run({"look": code})["look"]
    assert "the-class-secret" not in str(answer)
    assert {"HOME", "TMPDIR"} <= set(answer["did"][0]) <= CLEAN


CLEAN = {
    "ATEN_CPU_CAPABILITY", "GLIBC_TUNABLES", "HOME", "LANG", "LC_CTYPE", "LD_LIBRARY_PATH", "LOGNAME", "MKL_CBWR",
    "MPLBACKEND",
    "OMP_NUM_THREADS", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PATH", "PWD",
    "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONPATH", "PYTHONUTF8", "TMPDIR", "USER",
}  # fmt: skip

LEAVE_FILES = """
import os, pathlib, tempfile
for folder in {private, tempfile.gettempdir(), "/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue", os.getcwd()}:
    try:
        pathlib.Path(folder, "left-by-the-first").write_text("answer")
    except OSError:
        pass
did = sorted(os.listdir(private))
"""
FIND_FILES = """
import os, pathlib, tempfile
did = []
for folder in {private, tempfile.gettempdir(), "/tmp", "/dev/shm", "/var/tmp", "/run", "/dev/mqueue", os.getcwd()}:
    try:
        did += [name for name in os.listdir(folder) if name == "left-by-the-first"]
    except OSError:
        pass
"""


def test_the_next_submission_sees_no_file_of_the_last(run: Run) -> None:
    answers = run(CODES)
    assert "left-by-the-first" in answers["leave files"]["did"]
    assert answers["find files"]["did"] == []


def test_the_private_folder_is_gone_afterwards(run: Run, where: tuple[Level, str]) -> None:
    private = run(CODES)["private folder"]["did"]
    if private == "/tmp" or where[0].wrapped:
        assert not Path("/tmp/file").exists()
    else:
        assert not Path(private).exists()


ESCAPE = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 100)
        os.execv("/bin/sleep", ["sleep", "@MARK@"])
    os._exit(0)
os.wait()
import time
time.sleep(0.3)
"""


def _running(mark: str) -> list[int]:
    """Process ids, as seen from outside, whose command line has `mark`."""
    found = subprocess.run(["pgrep", "--full", f"^sleep {mark}"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def test_a_process_that_escapes_its_session_ends_with_the_submission(run: Run) -> None:
    answer = run(CODES)["escape"]
    assert answer.get("error") in (None, "PermissionError")
    assert _running(MARK) == []


def test_without_a_sandbox_it_would_have_stayed() -> None:
    mark = f"76544.{os.getpid()}"
    attempt(Level("none"), "me", {"escape": ESCAPE.replace("@MARK@", mark)})
    left = _running(mark)
    for pid in left:
        os.kill(pid, 9)
    assert len(left) == 1


FORK_BOMB = """
import os, time
did = 0
for _ in range(300):
    try:
        if os.fork() == 0:
            os.closerange(0, 100)
            time.sleep(30)
            os._exit(0)
    except OSError:
        break
    did += 1
"""


def test_a_fork_bomb_is_limited(run: Run) -> None:
    assert run({"bomb": FORK_BOMB}, processes=20)["bomb"]["did"] < 20


@pytest.mark.parametrize("user", ["me", "ordinary"])
def test_processes_may_be_started_where_they_are_counted_and_end(user: str) -> None:
    code = "import subprocess; did = subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout"
    level = level_for("bubblewrap", user)
    assert attempt(level, user, {"start": code}, processes=16)["start"]["did"] == "hello\n"


def test_no_process_can_be_started_unless_it_is_allowed(run: Run) -> None:
    """Neither a bomb nor a helper that computes elsewhere, unseen by what watches the submission."""
    code = "import os, subprocess, sys\ndid = subprocess.run([sys.executable, '-c', 'print(1)']).returncode"
    fork = "import os\ndid = os.fork()"
    found = run({"subprocess": code, "fork": fork})
    assert all("did" not in found[name] or found[name]["did"] is None for name in found), found


HONEST = {
    "threads": """
import threading
got = []
many = [threading.Thread(target=got.append, args=(k,)) for k in range(8)]
[thread.start() for thread in many], [thread.join() for thread in many]
did = sorted(got)
""",
    "files": """
import pathlib, shutil, tempfile
pathlib.Path("a").write_text("text")
shutil.copyfile("a", "b")
pathlib.Path("b").rename("c")
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w") as file:
    pathlib.Path(folder, "d").mkdir()
    pathlib.Path("c").unlink()
did = pathlib.Path("a").read_text()
""",
    "input": "import sys; did = sys.stdin.read()",
    "event loop": """
import asyncio
async def answer():
    await asyncio.sleep(0)
    return 42
did = asyncio.run(answer())
""",
    "standard library": """
import decimal, sqlite3, ssl, unittest, zoneinfo
did = sqlite3.connect(":memory:").execute("select 1").fetchone()
""",
    "own process": """
import os, signal
signal.signal(10, lambda *_: None)
os.kill(os.getpid(), 10)
signal.raise_signal(10)
""",
    "affinity": "import os; os.sched_setaffinity(0, os.sched_getaffinity(0)); did = os.cpu_count() >= 1",
}


def test_honest_code_runs(run: Run) -> None:
    answers = run(CODES)
    assert {name: answers[name].get("did", answers[name]) for name in HONEST} == {
        "threads": list(range(8)),
        "files": "text",
        "input": "",
        "event loop": 42,
        "standard library": [1],
        "own process": "ran to the end",
        "affinity": True,
    }


GREEDY = {
    "memory": "bytearray(400 << 20)",
    "modest": "did = len(bytearray(50 << 20)) >> 20",
    "disk": "open('large', 'wb').write(bytes(80 << 20))",
    "descriptors": "import os; did = [os.dup(0) for _ in range(1000)]",
}


def test_memory_disk_and_descriptors_are_limited(run: Run) -> None:
    answers = run(GREEDY, memory=200 << 20, disk=40 << 20, open_files=100)
    assert answers["memory"]["error"] == "MemoryError"
    assert answers["modest"]["did"] == 50
    assert answers["disk"]["error"] == "OSError"
    assert answers["descriptors"]["error"] == "OSError"


def test_no_descriptor_of_the_warm_process_is_inherited(run: Run) -> None:
    assert run(CODES)["count descriptors"]["did"] == 1  # the pipe that carries this answer


def test_the_way_a_submission_ends_is_seen_by_the_warm_process(run: Run) -> None:
    answers = run(CODES)
    assert answers["exit"] == {"status": 7}
    assert answers["segfault"] == {"status": -11}
    assert answers["abort"]["status"] in (-6, -11)  # the first process of a namespace takes no SIGABRT


def test_processor_time_is_limited(run: Run) -> None:
    assert run({"spin": "while True: pass"}, cpu_seconds=1)["spin"] == {"status": -9}


# All that is run with the usual limits, in this order, in one warm process for each level and user.
MARK = f"76543.{os.getpid()}"
CODES = {
    **FORBIDDEN_CODES,
    **REFUSED_CODES,
    **HONEST,
    "leave files": LEAVE_FILES,
    "find files": FIND_FILES,
    "private folder": "did = private; open('file', 'w').write('x')",
    "escape": ESCAPE.replace("@MARK@", MARK),
    "look at the environment": """
import os
did = [dict(os.environ)]
for pid in ("self", "1", str(os.getppid())):
    try:
        did.append(open(f"/proc/{pid}/environ").read())
    except OSError:
        pass
""",
    "count descriptors": """
import os
did = 0
for fd in range(3, 300):
    try:
        os.fstat(fd)
        did += 1
    except OSError:
        pass
""",
    "exit": "import os; os._exit(7)",
    "segfault": "import ctypes; ctypes.string_at(0)",
    "abort": "import os; os.abort()",
}
