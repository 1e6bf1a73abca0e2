"""A PostgreSQL database as the gradebook: the same rows as in a file, and several graders at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from sqlalchemy import create_engine, text

from grader.classroom import ledger
from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.ledger import WRITING
from grader.classroom.run import grade_class
from grader.cli import main
from grader.errors import GraderError
from tests.classroom import postgres
from tests.classroom.conftest import Student
from tests.classroom.test_nbgrader_commands import nbgrader

BIN = postgres.programs()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BIN is None and not os.environ.get("CI"), reason="no PostgreSQL server is installed"),
]
LESSON = "00_warm_up"
Class = Callable[[str], ClassFolder]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert BIN is not None, "no PostgreSQL server: apt-get install postgresql"
    with postgres.server(BIN) as found:
        yield found


@pytest.fixture
def url(address: str, request: pytest.FixtureRequest) -> str:
    """A new, empty database."""
    name = f"db{abs(hash(request.node.name))}"
    engine = create_engine(address.format(name="postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return address.format(name=name)


@pytest.fixture
def on_server(klass: ClassFolder, url: str, tmp_path: Path, tiny_lessons: dict[str, NotebookNode]) -> Class:
    """Makes class folders that share one database, as of graders on machines of their own."""
    with klass.config_file.open("a") as file:
        file.write(f"c.CourseDirectory.db_url = {url!r}\n")
    klass.gradebook.unlink()
    new_class(klass.root, lessons=tiny_lessons)

    def make(name: str) -> ClassFolder:
        return ClassFolder.open(shutil.copytree(klass.root, tmp_path / name / "tiny"))

    return make


def hand_in(folder: ClassFolder, *names: str) -> None:
    for name in names:
        file = Student(folder, name).hand_in(triple="" if name.startswith("b") else "def triple(x):\n    return 3 * x")
        file.with_name("timestamp.txt").write_text("2026-10-05 12:00:00 UTC")


def rows(url: str) -> list[Any]:
    """What a gradebook says, by names."""
    with Gradebook(url) as book:
        found: list[Any] = [("student", s.id) for s in book.students]
        for lesson in book.assignments:
            for work in lesson.submissions:
                key = (lesson.name, work.student_id)
                notebook = work.notebooks[0]
                found.append((*key, str(work.timestamp), str(work.extension), notebook.late_submission_penalty))
                for grade in notebook.grades:
                    found.append((*key, grade.name, grade.auto_score, grade.manual_score, grade.needs_manual_grade))
        return sorted(found, key=repr)


TERMS = '[due]\n00_warm_up = "2026-10-04 12:00"\n[late]\nper_day = 1\n[extensions.ada]\n00_warm_up = "3 days"\n'


def test_the_same_rows_as_in_a_file(
    on_server: Class, url: str, tmp_path: Path, tiny_lessons: dict[str, NotebookNode]
) -> None:
    there, here = on_server("there"), new_class(tmp_path / "here", lessons=tiny_lessons).folder
    for folder in (there, here):
        folder.terms_file.write_text(TERMS)
        hand_in(folder, "ada", "bo", "müller, jörg")
        summary = grade_class(folder.root)
        assert {row.student: row.entries[0].points for row in summary.rows} == {"ada": 5, "bo": 1, "müller, jörg": 4}
    assert rows(url) == rows(here.gradebook_url)
    assert not there.gradebook.exists(), "nothing reads or makes the file"
    assert not (there.private / "backups").exists()
    before = rows(url)
    done = CliRunner().invoke(main, ["report", str(there.root), "--json"])
    assert done.exit_code == 0, done.output
    nbgrader(there, "autograde", LESSON, "--force", "--student", "bo")
    assert rows(url) == before
    nbgrader(there, "generate_feedback", LESSON, "--force")


def test_two_graders_at_once_lose_nothing(on_server: Class, url: str) -> None:
    """Each has half of the class, some students in both; all rows are there, and no run is broken."""
    folders = [on_server(name) for name in ("one", "two")]
    hand_in(folders[0], *(f"a{n}" for n in range(8)), "both", "bth")
    hand_in(folders[1], *(f"b{n}" for n in range(8)), "both", "bth")
    command = [sys.executable, "-m", "grader", "grade", "--jobs", "1"]
    runs = [
        subprocess.Popen([*command, str(f.root)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for f in folders
    ]
    for run in runs:
        output, _ = run.communicate(timeout=200)
        assert run.returncode == 0, output
    with Gradebook(url) as book:
        found = {s.student_id: s.score for s in book.assignment_submissions(LESSON)}
    expected = {f"a{n}": 5.0 for n in range(8)} | {f"b{n}": 2.0 for n in range(8)} | {"both": 2.0, "bth": 2.0}
    assert found == expected
    before = rows(url)
    for folder in folders:
        grade_class(folder.root, force=True)
    assert rows(url) == before


def test_one_waits_for_another_and_is_told_when_it_takes_too_long(
    on_server: Class, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = on_server("one")
    hand_in(folder, "ada")
    monkeypatch.setattr(ledger, "PATIENCE", 1.0)
    engine = create_engine(url)
    with engine.connect() as other:
        other.execute(text(f"SELECT pg_advisory_xact_lock({WRITING})"))
        with pytest.raises(GraderError, match=r"locked by another program for 1 s.*Nothing was lost"):
            grade_class(folder.root)
        monkeypatch.setattr(ledger, "PATIENCE", 30.0)
        letting_go = threading.Timer(1.5, other.rollback)
        letting_go.start()
        start = time.monotonic()
        assert grade_class(folder.root).rows[0].points == 5
        assert time.monotonic() - start > 1, "it waited"
        letting_go.join()
    engine.dispose()


def test_a_server_that_is_not_there(on_server: Class) -> None:
    folder = on_server("one")
    with folder.config_file.open("a") as file:
        file.write("c.CourseDirectory.db_url = 'postgresql+psycopg://me:secret@localhost:1/none'\n")
    for command in ("grade", "report"):
        done = CliRunner().invoke(main, [command, str(folder.root)])
        assert done.exit_code == 2, done.output
        assert "me:***@localhost:1/none cannot be opened" in done.stderr
        assert "secret" not in done.stderr
