"""A class graded by a real Dask scheduler and real worker processes, one of which is killed on the way."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from grader.classroom.folder import ClassFolder
from grader.classroom.outcome import Outcome
from grader.classroom.progress import Watcher
from grader.classroom.run import grade_class
from grader.cli import main
from grader.errors import GraderError

pytestmark = pytest.mark.slow
Students = Callable[[str], Any]


def started(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    with (folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb") as log:
        command = [sys.executable, "-m", f"distributed.cli.dask_{words[0]}", *words[1:]]
        return subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)


class Cluster:
    """A scheduler on loopback, and workers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.workers = folder, list[subprocess.Popen[bytes]]()
        self.scheduler = started(folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self.address = self._said(r"Scheduler at:\s*(tcp://[\d.:]+)", "scheduler")

    def _said(self, pattern: str, name: str) -> str:
        until = time.monotonic() + 120
        while time.monotonic() < until:
            for log in self.folder.glob(f"{name}-*.log"):
                if found := re.search(pattern, log.read_text()):
                    return found[1]
            time.sleep(0.1)
        raise AssertionError(f"{name} did not start")

    def add_worker(self) -> None:
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)]
        self.workers.append(started(self.folder, "worker", self.address, *options))

    def close(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    place = tmp_path / "dask"
    place.mkdir()
    made = Cluster(place)
    try:
        yield made
    finally:
        made.close()


def wait_for_workers(cluster: Cluster, count: int) -> None:
    from distributed import Client

    with Client(cluster.address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=120)


class Kills(Watcher):
    """Kills a worker when the first submission is graded."""

    def __init__(self, victim: subprocess.Popen[bytes]) -> None:
        self.victim, self.seen = victim, 0

    def done(self, outcome: Outcome | None) -> None:
        self.seen += 1
        self.victim.send_signal(signal.SIGKILL)


def points(folder: ClassFolder, **options: Any) -> dict[str, list[float | None]]:
    return {row.student: [entry.points for entry in row.entries] for row in grade_class(folder.root, **options).rows}


def test_a_killed_worker_costs_nothing(klass: ClassFolder, student: Students, cluster: Cluster) -> None:
    for number in range(16):
        slow = f"import time\ntime.sleep(0.3)\ndef double(x):\n    return 2 * x + {number % 3}"
        student(f"s{number:02}").hand_in(double=slow, triple=f"def triple(x):\n    # {number}\n    return 3 * x")
    cluster.add_worker()
    cluster.add_worker()
    wait_for_workers(cluster, 2)
    watcher = Kills(cluster.workers[0])
    found = points(klass, scheduler=cluster.address, watcher=watcher)
    assert watcher.seen == 32
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert found == {f"s{n:02}": [5.0 if n % 3 == 0 else 3.0, None] for n in range(16)}
    assert points(klass, force=True) == found, "the same as graded here"


def test_what_is_missing_is_said(klass: ClassFolder, student: Students, cluster: Cluster) -> None:
    student("ada").hand_in()
    with pytest.raises(GraderError, match=f"has no workers. Start some: dask worker {cluster.address}"):
        grade_class(klass.root, scheduler=cluster.address)
    cluster.close()
    result = CliRunner().invoke(main, ["grade", str(klass.root), "--scheduler", cluster.address])
    assert result.exit_code == 2
    assert "no Dask scheduler answers" in result.stderr
    assert "Traceback" not in result.output
