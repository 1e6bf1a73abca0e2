"""`grader check --watch` in a process of its own, on a file that is saved in all the ways editors save."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.test_command_line import relu

WRONG = relu(backward="return (ctx.saved_tensors[0] > 0).double()")


class Watching:
    """The command, and what it has printed so far."""

    def __init__(self, file: Path, *, exercise: str = "relu") -> None:
        command = [sys.executable, "-m", "grader", "check", exercise, str(file), "--watch", "--time-limit", "100"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.printed, self.read = "", 0
        self.news = threading.Condition()
        self.reader = threading.Thread(target=self._listen, daemon=True)
        self.reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        while piece := os.read(self.process.stdout.fileno(), 4096):
            with self.news:
                self.printed += piece.decode()
                self.news.notify()

    def says(self, pattern: str) -> str:
        """Wait until something that matches was printed, after what was waited for before."""
        with self.news:
            found = self.news.wait_for(lambda: re.search(pattern, self.printed[self.read :], re.DOTALL), timeout=200)
            assert found, self.printed
            self.read += found.end()
            return found.group()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


@pytest.fixture
def watching(file: Path) -> Iterator[Watching]:
    file.write_text(WRONG)
    found = Watching(file)
    yield found
    found.process.kill()
    found.process.wait()


def replaced(file: Path, text: str) -> None:
    """As editors save: a new file takes the old one's name."""
    new = file.with_suffix(".tmp")
    new.write_text(text)
    new.replace(file)


@pytest.mark.slow
def test_each_save_is_checked(watching: Watching, file: Path) -> None:
    first = watching.says(r"\d\d:\d\d:\d\d .*not there yet.*Ctrl\+C to end")
    assert "Diagnosis: Your backward returns the slope of ReLU alone" in first.replace("\n             ", " ")
    replaced(file, relu())
    watching.says(r"\d\d:\d\d:\d\d .*right, 4 of 4 points.*Ctrl\+C to end")
    replaced(file, "class MyReLU(:\n")
    watching.says(r"not valid\s+Python: line\s+1.*Ctrl\+C to end")
    file.unlink()
    file.write_text(WRONG)
    watching.says(r"not there yet.*Ctrl\+C to end")
    with file.open("w") as half:  # saved in two pieces
        half.write(relu()[:60])
        half.flush()
        half.write(relu()[60:])
    watching.says(r"right, 4 of 4 points.*Ctrl\+C to end")
    assert watching.stop() == 0
    assert "No longer watching." in watching.says("No longer watching.")
    assert "Traceback" not in watching.printed


@pytest.mark.slow
def test_a_save_ends_a_run_that_hangs(watching: Watching, file: Path) -> None:
    watching.says(r"Ctrl\+C to end")
    replaced(file, "import time\nwhile True: time.sleep(1)\n")
    watching.says(r"\d\d:\d\d:\d\d ")
    replaced(file, relu())
    watching.says(r"Saved again meanwhile.*right, 4 of 4 points")


@pytest.mark.slow
def test_a_file_that_is_not_there_yet_is_waited_for(file: Path) -> None:
    found = Watching(file)
    try:
        found.says(r"Waiting for")
        file.write_text(relu())
        found.says(r"right, 4 of 4 points")
        assert found.stop() == 0
    finally:
        found.process.kill()
        found.process.wait()


def test_what_no_save_can_mend_ends_it(file: Path) -> None:
    file.write_text(WRONG)
    found = Watching(file, exercise="nonsense")
    found.says("nonsense")
    assert found.process.wait(timeout=100) == 2
