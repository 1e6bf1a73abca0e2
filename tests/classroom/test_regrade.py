"""grader regrade: all again, what changes shown first, what people entered kept, and by which tests who was graded."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.cli import main
from tests.classroom.nbgraders_own import dump
from tests.classroom.test_class import changed_tests

Students = Callable[[str], Any]
LESSON = "00_warm_up"
PLUS_ONE = "def double(x):\n    return x + 1"


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def graded(klass: ClassFolder, student: Students) -> ClassFolder:
    """ada all right, bo one point of two in `double`, cy too but scored by hand with a comment and extra credit."""
    student("ada").hand_in()
    student("bo").hand_in(double=PLUS_ONE)
    student("cy").hand_in(double=PLUS_ONE + "  # cy")
    student("cy").hand_in("01_powers")
    grade_class(klass.root)
    with Gradebook(klass.gradebook_url) as book:
        grade = book.find_grade("test_double", LESSON, LESSON, "cy")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 1.75, 0.5, False
        book.find_comment("double", LESSON, LESSON, "cy").manual_comment = "see me"
        book.db.commit()
    return klass


def by_hand(folder: ClassFolder) -> tuple[Any, ...]:
    with Gradebook(folder.gradebook_url) as book:
        grade = book.find_grade("test_double", LESSON, LESSON, "cy")
        comment = book.find_comment("double", LESSON, LESSON, "cy").comment
        return grade.manual_score, grade.extra_credit, comment, grade.auto_score, grade.needs_manual_grade


def points(folder: ClassFolder) -> dict[str, float]:
    with Gradebook(folder.gradebook_url) as book:
        return {s.student_id: s.score for s in book.assignment_submissions(LESSON)}


def test_all_is_run_again_and_nothing_changes(graded: ClassFolder, ran: list[str]) -> None:
    before = dump(graded.gradebook)
    done = invoke("regrade", graded.root)
    assert done.exit_code == 0, done.output
    assert len(ran) == 4
    assert dump(graded.gradebook) == before
    assert "before" not in done.stderr, "no points differ"


def test_chosen_lessons_and_students(graded: ClassFolder, ran: list[str]) -> None:
    assert invoke("regrade", graded.root, "--lesson", "01_powers").exit_code == 0
    assert len(ran) == 1
    assert invoke("regrade", graded.root, "--student", "cy").exit_code == 0
    assert len(ran) == 3
    done = invoke("regrade", graded.root, "--student", "zoe")
    assert (done.exit_code, "There is work of: ada, bo, cy" in done.stderr) == (2, True)


def test_other_tests_are_shown_first_and_people_have_the_last_word(
    graded: ClassFolder, tiny_lessons: dict[str, NotebookNode]
) -> None:
    assert by_hand(graded) == (1.75, 0.5, "see me", 1.0, False)
    changed_tests(graded, tiny_lessons, LESSON, "return 1.0 if", "return 0.5 if")
    before = dump(graded.gradebook)
    done = invoke("regrade", graded.root, "--dry-run")
    assert done.exit_code == 0
    assert "double 1 → 0.5" in done.stderr
    assert dump(graded.gradebook) == before, "a dry run enters nothing"
    done = invoke("regrade", graded.root, "--json")
    told = json.loads(done.stdout)
    changes = {each["student"]: (each["before"], each["after"]) for each in told["score_changes"]}
    assert changes == {"bo": (4.0, 3.5), "cy": (4.0, 3.5)}
    assert points(graded) == {"ada": 5, "bo": 3.5, "cy": 1.75 + 0.5 + 3}
    assert by_hand(graded) == (1.75, 0.5, "see me", 0.5, True), "as nbgrader: the person is asked to look again"


def test_who_was_graded_with_which_tests(graded: ClassFolder, tiny_lessons: dict[str, NotebookNode]) -> None:
    changed_tests(graded, tiny_lessons, LESSON, "return 1.0 if", "return 0.5 if")
    summary = grade_class(graded.root, agree=lambda changes: False)
    sets = {(each.lesson, each.now): each for each in summary.test_sets}
    assert sets[LESSON, True].students == ["ada"], "whose points stay"
    assert sets[LESSON, False].students == ["bo", "cy"]
    assert sets["01_powers", True].students == ["cy"]
    assert sets[LESSON, False].since <= sets[LESSON, True].since
    told = invoke("regrade", graded.root, "--lesson", LESSON)
    rows = [line.split() for line in told.stderr.splitlines() if line.strip().startswith(LESSON)]
    assert [row[-5:] for row in rows] == [["3", "the", "tests", "of", "now"]]


def test_force_is_no_second_way(graded: ClassFolder) -> None:
    assert invoke("grade", graded.root, "--force").exit_code == 2


def test_a_hand_in_of_the_same_second_and_size_is_seen(graded: ClassFolder, student: Students) -> None:
    file = student("bo").hand_in(double="def double(x):\n    return x * 1")
    when = file.stat()
    grade_class(graded.root)
    assert points(graded)["bo"] == 3
    student("bo").hand_in(double="def double(x):\n    return x * 2")
    os.utime(file, ns=(when.st_atime_ns, when.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (when.st_size, when.st_mtime_ns)
    grade_class(graded.root)
    assert points(graded)["bo"] == 5


def test_two_students_of_the_same_second(graded: ClassFolder, student: Students) -> None:
    for name in ("di", "do"):
        place = student(name).hand_in(triple="" if name == "do" else "def triple(x):\n    return 3 * x")
        place.with_name("timestamp.txt").write_text("2026-10-05 12:00:00 UTC")
        os.utime(place, (1_790_000_000, 1_790_000_000))
    grade_class(graded.root)
    assert (points(graded)["di"], points(graded)["do"]) == (5, 2)
