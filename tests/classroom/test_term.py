"""A term of sixty students and five lessons: run once, each step twice, or killed on the way, it ends in the same
gradebook. Five answers are all that differ, so that little is run and much is entered."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.classroom.backup import backups
from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.cli import main
from tests.classroom.course import lesson
from tests.classroom.nbgraders_own import dump

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NAMES = [f"s{number:02}" for number in range(60)]
WEEKS = {f"0{week}_week": f"2026-10-{1 + 7 * week:02} 23:59" for week in range(5)}
LATE = '[late]\nper_day = "20%"\nat_most = "60%"\ngrace_minutes = 30\n'
Run = Callable[..., None]


def sources() -> dict[str, NotebookNode]:
    """Five lessons of one exercise, worth four points."""
    return {name: lesson(name, {f"f{n}": (f"f{n}(x)", f"x + {n}", 4)}) for n, name in enumerate(WEEKS)}


def answers(number: int) -> list[str]:
    """Right, right at 1 only, wrong, broken, and nothing."""
    head = f"def f{number}(x):\n    return "
    return [f"{head}x + {number}", f"{head}{number} + 1", f"{head}x - 7", f"{head}(", ""]


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    folder = new_class(tmp_path_factory.mktemp("term") / "made", lessons=sources()).folder
    dates = "\n".join(f'{name} = "{when}"' for name, when in WEEKS.items())
    folder.terms_file.write_text(f'timezone = "Europe/Berlin"\n[due]\n{dates}\n{LATE}')
    return folder


def hand_in(folder: ClassFolder, week: int) -> None:
    """All hand in a lesson, every seventh late by a day or more, some not at all."""
    name = list(WEEKS)[week]
    texts = []
    for answer in answers(week):
        notebook = nbformat.read(folder.release(name), as_version=4)
        for cell in notebook.cells:
            if answer and cell.id == f"f{week}":
                cell.source = answer
        texts.append(json.dumps(notebook))
    for number, student in enumerate(NAMES):
        if (number + week) % 20 == 19:
            continue
        place = folder.submitted(student, name)
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.ipynb").write_text(texts[(number * 3 + week) % 11 % 5])
        day = date(2026, 10, 1) + timedelta(days=7 * week + (number % 5 if number % 7 == 0 else 0))
        (place / "timestamp.txt").write_text(f"{day} 21:30:00 UTC")


def by_hand(folder: ClassFolder) -> None:
    """What a person enters in the formgrader: points, extra credit and a comment."""
    with Gradebook(folder.gradebook_url) as book:
        grade = book.find_grade("test_f1", "01_week", "01_week", "s07")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 3.5, 0.25, False
        book.find_comment("f1", "01_week", "01_week", "s07").manual_comment = "well argued"
        book.db.commit()


def other_tests(folder: ClassFolder) -> None:
    """The second lesson gives less for an answer that is right at 1 only."""
    changed = sources()
    for cell in changed["01_week"].cells:
        cell.source = cell.source.replace("return 1.0 if", "return 0.5 if")
    new_class(folder.root, lessons=changed)


def term(folder: ClassFolder, run: Run) -> None:
    """The term, week by week; `run` runs a command of ours."""
    for week in range(3):
        hand_in(folder, week)
    run("grade")
    by_hand(folder)
    run("extend", "s14", "01_week", "--until", "2026-10-15 23:59")
    run("extend", "s28", "--days", "2")
    hand_in(folder, 3)
    run("grade")
    other_tests(folder)
    run("regrade", "--lesson", "01_week", "--yes")
    folder.terms_file.write_text(folder.terms_file.read_text().replace('"20%"', '"10%"'))
    hand_in(folder, 4)
    run("grade", "--yes")


def here(folder: ClassFolder, times: int) -> Run:
    def run(command: str, *words: str) -> None:
        for _ in range(times):
            done = CliRunner().invoke(main, [command, str(folder.root), *words])
            assert done.exit_code == 0, done.output

    return run


@pytest.fixture(scope="module")
def once(course: ClassFolder, tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    return ClassFolder.open(shutil.copytree(course.root, tmp_path_factory.mktemp("once") / "term"))


@pytest.fixture
def expected(once: ClassFolder) -> dict[str, list[str]]:
    """All rows of the gradebook at the end of a term in which nothing went wrong."""
    if not (once.root / "submitted" / NAMES[0]).exists():
        term(once, here(once, 1))
    return dump(once.gradebook)


def copy_of(course: ClassFolder, place: Path) -> ClassFolder:
    return ClassFolder.open(shutil.copytree(course.root, place / "term"))


def differing(found: dict[str, list[str]], expected: dict[str, list[str]]) -> dict[str, Any]:
    return {table: sorted({*found[table]} ^ {*rows})[:6] for table, rows in expected.items() if found[table] != rows}


def test_what_the_term_ends_with(once: ClassFolder, expected: dict[str, list[str]]) -> None:
    assert len(expected["submitted_assignment"]) == 60 * 5 - 15
    with Gradebook(once.gradebook_url) as book:

        def work(student: str, name: str) -> tuple[float, float]:
            found = book.find_submission_notebook(name, name, student)
            return found.score, found.late_submission_penalty or 0.0

        score, penalty = work("s07", "01_week")
        assert score == 3.75, "by hand, and extra credit"
        assert penalty == pytest.approx(0.75), "two days late at 10 %"
        assert book.find_comment("f1", "01_week", "01_week", "s07").comment == "well argued"
        assert work("s14", "01_week")[1] == 0, "has until the week after"
        scores = {s.score for s in book.assignment_submissions("01_week")}
        assert scores == {0, 0.5, 3.75, 4}, "by the other tests"
        assert {s.score for s in book.assignment_submissions("02_week")} == {0, 1, 4}
    assert 4 <= len(backups(once)) <= 20


def test_every_command_twice(course: ClassFolder, expected: dict[str, list[str]], tmp_path: Path) -> None:
    folder = copy_of(course, tmp_path)

    def twice(command: str, *words: str) -> None:
        here(folder, 2 if command != "regrade" else 1)(command, *words)

    term(folder, twice)
    here(folder, 1)("regrade", "--yes")
    assert differing(dump(folder.gradebook), expected) == {}


@pytest.mark.pool
def test_killed_on_the_way(course: ClassFolder, expected: dict[str, list[str]], tmp_path: Path) -> None:
    folder, chance = copy_of(course, tmp_path), random.Random(60)
    killed = []

    def run(command: str, *words: str) -> None:
        line = [sys.executable, "-m", "grader", command, str(folder.root), *words]
        line += ["--jobs", "1"] if command != "extend" else []
        for seconds in [chance.uniform(2, 6), chance.uniform(4, 12)] if command != "extend" else []:
            with (tmp_path / "log").open("ab") as log:
                going = subprocess.Popen(line, stdout=log, stderr=log, start_new_session=True)
            with contextlib.suppress(subprocess.TimeoutExpired):
                going.wait(seconds)
            killed.append(going.poll() is None)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(going.pid, signal.SIGKILL)
            going.wait(60)
        subprocess.run(line, check=True, capture_output=True, timeout=300)

    term(folder, run)
    assert sum(killed) >= 3, "too fast to be killed: give the runs less time"
    assert differing(dump(folder.gradebook), expected) == {}
