"""Copies of the gradebook: when they are made, that they are whole, how many are kept, and bringing one back."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

from grader.classroom import backup
from grader.classroom.backup import back_up, backups
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.cli import main
from grader.errors import GraderError
from tests.classroom.nbgraders_own import dump

Students = Callable[[str], Any]
LESSON = "00_warm_up"


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def points(folder: ClassFolder) -> dict[str, float]:
    with Gradebook(folder.gradebook_url) as book:
        return {s.student_id: s.score for s in book.assignment_submissions(LESSON)}


def test_a_copy_before_each_run_that_changes_something(klass: ClassFolder, student: Students) -> None:
    before = dump(klass.gradebook)
    student("ada").hand_in()
    grade_class(klass.root, dry_run=True)
    assert not backups(klass)
    grade_class(klass.root)
    first = backups(klass)
    assert [dump(path) for path in first.values()] == [before]
    grade_class(klass.root)
    grade_class(klass.root, lesson=LESSON)
    assert backups(klass) == first, "nothing was changed"
    graded = dump(klass.gradebook)
    student("bo").hand_in(triple="")
    klass.terms_file.write_text('[due]\n00_warm_up = "2026-10-05"\n')
    grade_class(klass.root)
    assert [dump(path) for path in backups(klass).values()] == [before, graded]
    klass.terms_file.write_text("")
    grade_class(klass.root)
    assert len(backups(klass)) == 3, "dates are a change too"


def test_a_copy_is_whole_while_another_program_writes(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in()
    grade_class(klass.root)
    stop = threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(klass.gradebook, timeout=30)) as other:
            while not stop.is_set():
                other.execute("UPDATE grade SET manual_score = coalesce(manual_score, 0) + 1")
                other.commit()
                stop.wait(0.002)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        made = [back_up(klass, klass.gradebook_url) for _ in range(10)]
    finally:
        stop.set()
        writing.join()
    for path in made:
        assert path is not None
        with closing(sqlite3.connect(path)) as copied:
            assert copied.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert len(copied.execute("SELECT DISTINCT manual_score FROM grade").fetchall()) == 1, "all rows or none"


def test_how_many_are_kept(klass: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    place = klass.private / "backups"
    place.mkdir()
    for day in range(1, 6):
        for hour in range(10):
            shutil.copy(klass.gradebook, place / f"gradebook-202601{day:02}T{hour:02}0000Z.db")
    (place / "notes.txt").write_text("mine")
    monkeypatch.setattr(backup, "NEWEST", 4)
    monkeypatch.setattr(backup, "DAYS", 3)
    made = back_up(klass, klass.gradebook_url)
    assert made is not None
    days = ["20260103T090000Z", "20260104T090000Z", "20260105T060000Z"]  # the last of each before the newest four
    newest = ["20260105T070000Z", "20260105T080000Z", "20260105T090000Z"]
    assert list(backups(klass))[:-1] == days + newest
    assert list(backups(klass).values())[-1] == made
    assert (place / "notes.txt").exists()


def test_copies_of_one_second_have_names_of_their_own(klass: ClassFolder) -> None:
    made = [back_up(klass, klass.gradebook_url) for _ in range(12)]
    assert len(set(made)) == 12
    assert list(backups(klass).values()) == made, "oldest first"


def test_bringing_one_back(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in(triple="")
    grade_class(klass.root)
    then = dump(klass.gradebook)
    student("ada").hand_in()
    student("bo").hand_in()
    grade_class(klass.root)
    after = dump(klass.gradebook)
    assert points(klass) == {"ada": 5, "bo": 5}
    listed = invoke("restore-gradebook", klass.root).stdout
    time = list(backups(klass))[-1]
    assert f"{time}  " in listed
    done = invoke("restore-gradebook", klass.root, time)
    assert done.exit_code == 0, done.output
    assert dump(klass.gradebook) == then
    kept = Path(done.stdout.partition("is kept: ")[2].splitlines()[0])
    assert dump(kept) == after
    grade_class(klass.root)  # what was handed in since is entered again, from the journal
    assert dump(klass.gradebook) == after


def test_no_such_copy_and_no_file(klass: ClassFolder) -> None:
    assert invoke("restore-gradebook", klass.root).stdout == "There is no copy yet.\n"
    for when in ("2026", ""):
        done = invoke("restore-gradebook", klass.root, when)
        assert (done.exit_code, "no copy begins with" in done.stderr) == (2, True)
    back_up(klass, klass.gradebook_url)
    back_up(klass, klass.gradebook_url)
    assert "several copies begin" in invoke("restore-gradebook", klass.root, "20").stderr
    with klass.config_file.open("a") as file:
        file.write("c.CourseDirectory.db_url = 'postgresql+psycopg://nobody@localhost:1/none'\n")
    assert "pg_dump" in invoke("restore-gradebook", klass.root, "20").stderr


def test_a_gradebook_in_use_is_not_replaced(klass: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    back_up(klass, klass.gradebook_url)
    monkeypatch.setattr(backup, "BUSY", 0.1)
    before = dump(klass.gradebook)
    with closing(sqlite3.connect(klass.gradebook)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GraderError, match="was not brought back: another program has had"):
            backup.restore(klass, klass.gradebook_url, next(iter(backups(klass))))
        other.rollback()
    assert dump(klass.gradebook) == before


def test_no_room_for_a_copy_ends_the_run_before_anything_is_entered(
    klass: ClassFolder, student: Students, monkeypatch: pytest.MonkeyPatch
) -> None:
    student("ada").hand_in()
    before = dump(klass.gradebook)

    def full(source: Path, target: Path) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(backup, "_copy", full)
        done = invoke("grade", klass.root)
    assert done.exit_code == 2
    assert "no copy of the gradebook could be made" in done.stderr
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.output
    assert dump(klass.gradebook) == before
    grade_class(klass.root)
    assert points(klass) == {"ada": 5}
