"""`kill -9` of any process of a run at any moment: run again, and the gradebook is that of an undisturbed run.

Random, so repeatable by its seed only as far as the machine's timing allows; that is why there are fifty.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from nbgrader.api import Gradebook

from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from tests.classroom.conftest import Student
from tests.processes import all_gone

pytestmark = [pytest.mark.slow, pytest.mark.pool]
SEEDS = range(50)
ROUNDS = 2  # runs that may be disturbed before one must go through


def dump(folder: ClassFolder) -> dict[str, Any]:
    """All that a run leaves: what the gradebook says, by names, and the files for students and instructors."""
    with Gradebook(folder.gradebook_url) as book:
        rows = []
        for assignment in book.assignments:
            for submission in assignment.submissions:
                for notebook in submission.notebooks:
                    key = (submission.student_id, assignment.name, str(submission.timestamp))
                    scores = ("auto_score", "manual_score", "extra_credit", "needs_manual_grade")
                    rows += [(*key, g.name, *(getattr(g, s) for s in scores)) for g in notebook.grades]
                    rows += [(*key, c.name, c.auto_comment, c.manual_comment) for c in notebook.comments]
        found: dict[str, Any] = {"students": sorted(s.id for s in book.students), "rows": sorted(map(repr, rows))}
    for part in ("autograded", "feedback"):
        files = [p for p in (folder.root / part).rglob("*") if p.is_file()]
        found[part] = {str(p.relative_to(folder.root)): p.read_bytes() for p in files}
    return found


@pytest.fixture(scope="module")
def prepared(made: ClassFolder, tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """A class with something to lose: new work, a resubmission, a manual score and comment, a crash, a loop."""
    root = tmp_path_factory.mktemp("kill") / "tiny"
    shutil.copytree(made.root, root)
    folder = ClassFolder.open(root)
    Student(folder, "ada").hand_in(double="def double(x):\n    return x")
    Student(folder, "bo").hand_in()
    grade_class(root, jobs=1)
    with Gradebook(folder.gradebook_url) as book:
        book.find_grade("test_double", "00_warm_up", "00_warm_up", "ada").manual_score = 1.5
        book.find_comment("double", "00_warm_up", "00_warm_up", "ada").manual_comment = "see me"
        book.db.commit()
    Student(folder, "ada").hand_in()
    for number in range(8):
        answer = f"import time\ntime.sleep(0.1)\ndef double(x):\n    return 2 * x + {number % 2}"
        Student(folder, f"s{number}").hand_in(double=answer)
        Student(folder, f"s{number}").hand_in("01_powers", square=f"def square(x):\n    return x * x  # {number}")
    Student(folder, "cy").hand_in(double="import os\nos._exit(1)")
    Student(folder, "di").hand_in().with_name("timestamp.txt").write_text("2026-01-02 03:04:05 UTC")
    return folder


@pytest.fixture(scope="module")
def undisturbed(prepared: ClassFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], float]:
    """What an undisturbed run leaves, and the seconds it takes."""
    folder = copy_of(prepared, tmp_path_factory.mktemp("undisturbed"))
    start = time.monotonic()
    assert finished(start_run(folder)) == 0
    return dump(folder), time.monotonic() - start


def copy_of(folder: ClassFolder, place: Path) -> ClassFolder:
    """The class at a path of the same length, which stands in no file that is compared."""
    shutil.copytree(folder.root, place / "tiny")
    return ClassFolder.open(place / "tiny")


def start_run(folder: ClassFolder) -> subprocess.Popen[bytes]:
    with (folder.root.parent / "log").open("ab") as log:
        return subprocess.Popen(command(folder), stdout=log, stderr=log, start_new_session=True, preexec_fn=hears)


def command(folder: ClassFolder) -> list[str]:
    return [sys.executable, "-m", "grader", "grade", str(folder.root), "--jobs", "2"]


def hears() -> None:
    """Make the program hear Ctrl+C: tests that run in the background are deaf to it, and so would it be."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ctrl_c(run: subprocess.Popen[Any]) -> list[psutil.Process]:
    """Send it as a terminal does, to all of the run's processes; all that there were."""
    seen = tree(run.pid)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGINT)
    return seen


def finished(run: subprocess.Popen[bytes]) -> int:
    return run.wait(200)


def tree(pid: int) -> list[psutil.Process]:
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def disturb(run: subprocess.Popen[bytes], chance: random.Random, seconds: float) -> list[psutil.Process]:
    """Kill one process of the run somewhere on its way; all that were seen."""
    time.sleep(chance.uniform(0.0, seconds))
    seen = tree(run.pid)
    # As often the run itself as one of its helpers, of which there are many more.
    victim = seen[0] if seen and chance.random() < 0.4 else chance.choice(seen) if seen else None
    if victim is not None:
        with contextlib.suppress(psutil.NoSuchProcess):
            victim.kill()
    return seen


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_run_run_again_is_as_one_undisturbed(
    seed: int, prepared: ClassFolder, undisturbed: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    chance, folder = random.Random(seed), copy_of(prepared, tmp_path)
    for _ in range(chance.randint(1, ROUNDS)):
        run = start_run(folder)
        seen = disturb(run, chance, 1.1 * seconds)
        finished(run)
        assert all_gone(seen), "something was left running"
    assert finished(start_run(folder)) == 0
    found = dump(folder)
    assert found["rows"] == expected["rows"]
    assert found == expected
    if seed % 5 == 0:
        assert finished(start_run(folder)) == 0
        assert dump(folder) == expected, "a run with nothing to do changes nothing"


@pytest.mark.parametrize("seed", range(5))
def test_a_run_stopped_by_ctrl_c_run_again_is_as_one_undisturbed(
    seed: int, prepared: ClassFolder, undisturbed: tuple[dict[str, Any], float], tmp_path: Path
) -> None:
    expected, seconds = undisturbed
    folder = copy_of(prepared, tmp_path)
    run = start_run(folder)
    time.sleep(random.Random(seed).uniform(0.0, seconds))
    seen = ctrl_c(run)
    finished(run)
    assert all_gone(seen), "something was left running"
    assert finished(start_run(folder)) == 0
    assert dump(folder) == expected


def test_ctrl_c_is_said_and_leaves_nothing_running(prepared: ClassFolder, tmp_path: Path) -> None:
    folder = copy_of(prepared, tmp_path)
    for late in ("xi", "yo"):  # so that the run is still at it, on however busy a machine
        Student(folder, late).hand_in(double="import time\ntime.sleep(15)\n\ndef double(x):\n    return 2 * x")
    run = subprocess.Popen(
        command(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hears,
    )
    assert run.stderr is not None
    said = run.stderr.readline()  # where it grades: the work begins
    seen = ctrl_c(run)
    _, rest = run.communicate(timeout=100)
    assert run.returncode == 2
    assert said.startswith("Grading with 2 processes")
    assert f"go on with: grader grade {folder.root}" in rest
    assert "Traceback" not in rest
    assert all_gone(seen)
