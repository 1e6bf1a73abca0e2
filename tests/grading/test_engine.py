"""Work in other processes: all of it comes back, whatever happens to the processes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from grader.grading.engine import Engine, local
from grader.grading.judge import grade
from grader.grading.level import Level
from grader.grading.pool import Pool
from grader.grading.sandbox import choose_level
from grader.grading.warm import Forked, Warm
from grader.grading.work import CodeCell, Graded, Work

ENDS_ITS_WORKER = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


def work(number: int, test: str = "x") -> Work:
    return Work(f"k{number}", (CodeCell("a", f"x = {number}"), CodeCell("test_a", test, points=100.0)))


@pytest.fixture
def engine() -> Iterator[Engine]:
    pool = Pool(Level("none"), 2)
    yield local(pool)
    pool.stop()


def run(engine: Engine, works: list[Work]) -> dict[str, str]:
    """What the last cell of each work ended in."""
    found = {}
    for pairs in engine.run(works):
        for one, graded in pairs:
            assert one.key not in found, "each work comes back once"
            if isinstance(graded, Graded):
                out = graded.outputs[-1][-1]
                found[one.key] = out["data"]["text/plain"] if "data" in out else out["evalue"]
            else:
                found[one.key] = str(graded)
    return found


def test_all_of_it_comes_back_and_a_worker_that_dies_costs_its_own_work_alone(engine: Engine) -> None:
    works = [work(n, ENDS_ITS_WORKER if n == 3 else "x") for n in range(12)]
    found = run(engine, works)
    assert found.pop("k3").startswith("the process that graded it was ended 3 times")
    assert found == {f"k{n}": f"{n}.0" for n in range(12) if n != 3}


def test_work_is_taken_as_workers_become_free(engine: Engine) -> None:
    """Memory does not grow with the class: a thousand submissions are not asked for at once."""
    asked = itertools.count()
    taken = []

    def works() -> Iterator[Work]:
        for number in range(1000):
            taken.append(next(asked))
            yield work(number)

    going = engine.run(works())
    for _ in range(3):
        next(going)
    going.close()
    assert len(taken) < 30


def test_a_long_path_of_temporary_files_is_no_obstacle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / ("long" * 30)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    pool = Pool(Level("none"), 1)
    try:
        assert run(local(pool), [work(1)]) == {"k1": "1.0"}
    finally:
        pool.stop()


SIMULATED = """
import os, select, signal, sys
for name in ("fork", "setsid", "killpg", "sched_getaffinity", "waitid"):
    vars(os).pop(name, None)
for name in ("SIGALRM", "SIGPROF", "SIGSYS", "SIGBUS", "pthread_sigmask", "setitimer"):
    vars(signal).pop(name, None)
vars(select).pop("poll", None)
sys.modules.update(dict.fromkeys(("fcntl", "resource", "pwd", "grp")))
"""


def test_where_the_system_cannot_fork_each_submission_is_a_process_of_its_own(tmp_path: Path) -> None:
    """As on Windows, as far as taking functions away can show it."""
    (tmp_path / "sitecustomize.py").write_text(SIMULATED)
    script = (
        "import sys\n"
        "from grader.grading.worker import grade_batch\n"
        "from grader.grading.work import CodeCell, Sandbox, Work\n"
        "from grader.grading.level import Level\n"
        "cells = (CodeCell('a', 'import os\\nx = os.getpid()\\nprint(os.getcwd())'), CodeCell('t', 'x', points=1e9))\n"
        "dies = (CodeCell('a', 'import os; os._exit(3)'), *cells)\n"
        "done = grade_batch([Work('1', cells), Work('2', dies)], Sandbox(Level('none'), unsafe=True))\n"
        "for graded in done:\n"
        "    print(graded.outputs[-1][-1]['data']['text/plain'], graded.outputs[0])\n"
    )
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=200, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    one, two = done.stdout.splitlines()
    assert one.split()[0] != two.split()[0], "each had a process of its own"
    assert "exit code 3" in two


def test_a_submission_whose_process_is_killed_from_outside_is_graded_once_more() -> None:
    """A kill -9 costs nobody a mark: no submission can kill itself so in the sandbox."""
    source = "import time\ntime.sleep(0.4)\nprint('done')"
    work = Work("k", (CodeCell("one", source),))
    with Warm(choose_level(unsafe=True)) as warm:
        undisturbed = grade(work, warm.fork)

        def fork() -> Forked:
            started = warm.fork()
            if not killed:
                killed.append(True)
                keeper = max(
                    (p for p in psutil.Process().children(recursive=True) if p.name().startswith("python")),
                    key=lambda p: p.create_time(),
                )
                threading.Timer(0.2, keeper.kill).start()
            return started

        killed: list[bool] = []
        disturbed = grade(work, fork)
    assert killed
    assert disturbed.outputs == undisturbed.outputs
    assert "done" in str(disturbed.outputs)
