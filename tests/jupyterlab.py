"""Starts the real `grader learn` in a process of its own, as a learner would, with an empty home folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Course", "serving"]


@dataclass(frozen=True, slots=True)
class Course:
    """A served course: its folder, the address that was printed, and everything printed up to it."""

    folder: Path
    url: str
    printed: str

    def lesson(self, name: str) -> str:
        """The address that opens another lesson of this course."""
        return re.sub(r"/tree/[^?]+", f"/tree/{name}", self.url)


@contextmanager
def serving(folder: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Course]:
    """Run `grader learn FOLDER` until the block ends, then stop it with Ctrl+C and expect a clean end."""
    home = folder.parent / "empty-home"
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "grader", "learn", str(folder), "--no-browser", *options]
    process = subprocess.Popen(
        command,
        cwd=folder.parent,
        env={**os.environ, "HOME": str(home), **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _wait_for_address(process, folder)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=60)
        assert process.returncode == 0, f"`grader learn` ended with {process.returncode}:\n{rest}"
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    left = sorted((folder / ".grader" / "jupyter" / "runtime").glob("*.json"))
    assert not left, f"the server or its kernels were not shut down: {left}"
    assert not any(home.iterdir()), f"written into the home folder: {sorted(home.iterdir())}"


def _wait_for_address(process: subprocess.Popen[str], folder: Path) -> Course:
    """Read what it prints up to the address; pytest's own time limit ends a wait for nothing."""
    printed = ""
    assert process.stdout is not None
    for line in process.stdout:
        printed += line
        found = re.search(r"http://\S+", line)
        if found:
            return Course(folder=folder, url=found.group(), printed=printed)
    raise AssertionError(f"`grader learn` printed no address:\n{printed}")
