"""A gradebook that another program holds, and a disk that is full: one clear message, nothing lost, run it again."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from grader.classroom import backup, ledger
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.cli import main
from tests.classroom.nbgraders_own import dump

Students = Callable[[str], Any]
DATES = '[due]\n00_warm_up = "2026-10-05"\n'


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.parametrize("lock", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
@pytest.mark.parametrize(
    "words",
    [
        ["grade"],
        ["extend", "ada", "00", "--days", "1"],
        pytest.param(["regrade", "--yes"], marks=pytest.mark.slow),
        pytest.param(["new-class", "--lesson", "00_st"], marks=pytest.mark.slow),
        ["report"],
    ],
    ids=lambda words: words[0],
)
def test_a_gradebook_held_by_another_program(
    klass: ClassFolder, student: Students, monkeypatch: pytest.MonkeyPatch, words: list[str], lock: str
) -> None:
    klass.terms_file.write_text(DATES)
    student("ada").hand_in()
    grade_class(klass.root)
    student("ada").hand_in(triple="")
    before = dump(klass.gradebook)
    for module, name in ((ledger, "PATIENCE"), (backup, "BUSY")):
        monkeypatch.setattr(module, name, 0.3)
    with closing(sqlite3.connect(klass.gradebook)) as other:
        other.execute(lock)
        done = invoke(words[0], klass.root, *words[1:])
        assert "Traceback" not in done.output
        if done.exit_code:  # what only reads may go on beside a writer
            assert (done.exit_code, "locked" in done.stderr) == (2, True), done.output
        else:
            assert (words[0], lock) == ("report", "BEGIN IMMEDIATE"), done.output
        other.rollback()
    assert dump(klass.gradebook) == before
    assert invoke(words[0], klass.root, *words[1:]).exit_code == 0
    assert {row.student: row.points for row in grade_class(klass.root).rows} == {"ada": 2.0}


@pytest.mark.parametrize("command", ["grade", "report", "new-class"])
def test_a_gradebook_of_an_older_nbgrader(klass: ClassFolder, command: str) -> None:
    with closing(sqlite3.connect(klass.gradebook)) as book:
        book.execute("UPDATE alembic_version SET version_num = '724cde206c17'")
        book.commit()
    done = invoke(command, klass.root)
    assert done.exit_code == 2, done.output
    assert "nbgrader db upgrade" in done.stderr
    assert "Traceback" not in done.output


ON_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size={size}k none {place}
cp -a {source}/. {place}
set +e
{python} -m grader grade {place} --jobs 1
echo exit $?
mount -o remount,size=100m {place}
{python} -m grader grade {place} --jobs 1
echo exit $?
cp -a {place} {result}
"""


def _may_mount() -> bool:
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    tried = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    return subprocess.run(tried, capture_output=True, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.pool
@pytest.mark.skipif(not _may_mount(), reason="a small disk needs the right to mount one")
@pytest.mark.parametrize("room", [0, 300])
def test_a_full_disk(klass: ClassFolder, student: Students, tmp_path: Path, room: int) -> None:
    """A disk with so many kilobytes left: not enough for the journal, a copy, the gradebook or the pages."""
    for number in range(12):
        student(f"s{number}").hand_in(double=f"def double(x):\n    return 2 * x + {number % 3}")
    copies = [Path(shutil.copytree(klass.root, tmp_path / name / "tiny")) for name in ("small", "large")]
    used = int(subprocess.check_output(["du", "-sk", copies[0]], text=True).split()[0])
    place, result = tmp_path / "disk" / "tiny", tmp_path / "result"
    place.mkdir(parents=True)
    script = ON_A_SMALL_DISK.format(
        size=used + 40 + room, place=place, source=copies[0], python=shlex.quote(sys.executable), result=result
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, timeout=250, check=False
    )
    exits = [line for line in done.stdout.splitlines() if line.startswith("exit")]
    assert exits in (["exit 2", "exit 0"], ["exit 0", "exit 0"]), done.stderr
    assert "Traceback" not in done.stderr
    if room == 0 or exits[0] == "exit 2":
        assert f"grader grade {place}" in done.stderr or "run this again" in done.stderr
    grade_class(copies[1])
    assert dump(result / "gradebook.db") == dump(copies[1] / "gradebook.db")
    assert len(list(result.glob("feedback/*/*/*.html"))) == 12
