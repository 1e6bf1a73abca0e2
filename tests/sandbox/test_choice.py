"""Choosing a level: the best that works, plain words where none does, and containers that forbid this or that."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from grader.errors import GraderError
from grader.grading import sandbox
from grader.grading.sandbox import Level, choose_level, command, environment, try_level
from tests.processes import all_gone
from tests.sandbox.levels import python_as, unavailable

CHOOSE = """
import json
from grader.errors import GraderError
from grader.grading import kernel, sandbox, seccomp
from grader.grading.seccomp import Rule
try:
    level = sandbox.choose_level()
    print(json.dumps({"level": level.as_text(), "describe": level.describe()}))
except GraderError as error:
    print(json.dumps({"refused": str(error)}))
"""
# What a container's own filter does: user namespaces are refused to everybody inside.
NO_NAMESPACES = """
from grader.grading import seccomp
from grader.grading.seccomp import Rule
import errno
seccomp.install([
    Rule("unshare", "any bit", 0, (0x10000000,)), Rule("clone", "any bit", 0, (0x10000000,)),
    Rule("clone3", error=errno.ENOSYS), Rule("mount"),
])
"""
NO_LANDLOCK = """
from grader.grading import landlock
landlock.abi = lambda: 0
"""


def choose(*setup: str, user: str = "me", path: str | None = None) -> dict[str, str]:
    code = "".join(setup) + (f"import os; os.environ['PATH'] = {path!r}\n" if path is not None else "") + CHOOSE
    answer: dict[str, str] = json.loads(python_as(user, "-c", code))
    return answer


@pytest.mark.parametrize("user", ["me", "ordinary"])
def test_bubblewrap_is_chosen_where_it_works(user: str) -> None:
    level = Level.from_text(choose(user=user)["level"])
    if level.name != "bubblewrap":
        unavailable("\n".join(level.why))
    assert level.namespaces
    assert level.why == ()
    assert level.nobody == (os.geteuid() == 0 and user == "me")


@pytest.mark.parametrize("user", ["me", "ordinary"])
def test_without_namespaces_landlock_is_left_and_says_why(user: str) -> None:
    level = Level.from_text(choose(NO_NAMESPACES, user=user)["level"])
    assert (level.name, level.namespaces) == ("landlock", False)
    assert any(re.search("bubblewrap.*(not permitted|No permissions)", reason) for reason in level.why)


def test_without_bubblewrap_its_package_is_named() -> None:
    level = Level.from_text(choose(path="/nonexistent")["level"])
    assert (level.name, level.namespaces) == ("landlock", True)
    assert level.why == ("bubblewrap is not installed (Debian and Ubuntu: apt install bubblewrap)",)


def test_a_bubblewrap_that_fails_is_quoted(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    level = Level.from_text(choose(path=f"{tmp_path}:/usr/bin:/bin")["level"])
    assert level.name == "landlock"
    assert "bwrap: setting up uid map: Permission denied" in level.why[0]


@pytest.mark.parametrize("user", ["me", "ordinary"])
def test_with_nothing_the_run_is_refused_in_plain_words(user: str) -> None:
    refused = choose(NO_NAMESPACES, NO_LANDLOCK, user=user)["refused"]
    assert "nothing was run" in refused
    assert "--unsafe" in refused
    assert "no Landlock" in refused
    assert "Traceback" not in refused


def test_elsewhere_than_on_linux_only_unsafe_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox._best.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    try:
        with pytest.raises(GraderError, match="there is no sandbox for darwin"):
            choose_level(unsafe=False)
        assert choose_level(unsafe=True).name == "none"
    finally:
        sandbox._best.cache_clear()


def test_unsafe_still_takes_the_best_level() -> None:
    assert choose_level(unsafe=True) == choose_level(unsafe=False)


def test_a_level_whose_promises_do_not_hold_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that claims a level but is not confined is found out by trying."""
    import grader.grading.probe as probe

    claimed = Level("landlock", landlock=1)
    broken = probe.broken_promises(claimed, os.getppid())
    assert "student code could open a network socket" in broken
    assert "student code could read the references and tolerances" in broken
    (Path(probe.__file__).parent / "left-behind").unlink()
    Path("/var/tmp/grader-left-behind").unlink()


def test_a_level_that_cannot_start_says_so() -> None:
    broken = try_level(Level("bubblewrap", namespaces=True), module="no_such_module")["broken"]
    assert "no_such_module" in broken[0]


# As bubblewrap while it starts: what it began hears no signal but SIGKILL. Then comes Ctrl+C.
STARTS = """#!/bin/sh
(trap '' INT; exec sleep 600) &
echo $! > "$(dirname "$0")/began"
kill -INT $PPID
wait
"""


def test_what_is_tried_leaves_nothing_running_when_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bwrap = tmp_path / "bwrap"
    bwrap.write_text(STARTS)
    bwrap.chmod(0o755)
    monkeypatch.setattr(sandbox, "_bubblewrap", lambda: str(bwrap))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            try_level(Level("bubblewrap", namespaces=True))
    finally:
        signal.signal(signal.SIGINT, before)
    with contextlib.suppress(psutil.NoSuchProcess):
        assert all_gone([psutil.Process(int((tmp_path / "began").read_text()))])


def test_the_environment_hands_on_nothing_of_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "the-class-secret")
    level = choose_level(unsafe=True)
    assert "the-class-secret" not in str(environment(level))
    code = "import os; print(sorted(os.environ.values()), open('/proc/1/environ').read())"
    out = subprocess.run(command(level, [sys.executable, "-c", code]), capture_output=True, text=True, check=False)
    assert "the-class-secret" not in out.stdout


def test_paths_and_descriptors_are_checked(tmp_path: Path) -> None:
    level = choose_level(unsafe=True)
    with pytest.raises(GraderError, match="no-such-file"):
        command(level, ["true"], readable=[tmp_path / "no-such-file"])
    with pytest.raises(OSError, match="Bad file descriptor"):
        command(level, ["true"], keep_fds=[987])


def test_a_level_survives_the_trip_to_the_warm_process() -> None:
    level = Level("bubblewrap", namespaces=True, landlock=7, nobody=True, why=("because", "also"))
    assert Level.from_text(level.as_text()) == level
