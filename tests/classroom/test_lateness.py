"""What lateness costs: by our run, by nbgrader's own commands, and when dates or rules change later."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from grader.classroom.changes import ScoreChange
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.classroom.terms import Late, read_terms
from tests.classroom.nbgraders_own import dump
from tests.classroom.test_nbgrader_commands import nbgrader

Students = Callable[[str], Any]
LESSON = "00_warm_up"
TERMS = """\
timezone = "Europe/Berlin"
[due]
00_warm_up = "2026-10-24 23:59"
[late]
per_day = "10%"
at_most = "50%"
grace_minutes = 10
[extensions.cy]
00_warm_up = "3 days"
"""


def late(tmp_path: Path, text: str) -> Late:
    (tmp_path / "class.toml").write_text("[late]\n" + text)
    found = read_terms(tmp_path / "class.toml").late
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "days", "earned", "penalty"),
    [
        ('per_day = "10%"', 1, 8.0, 0.8),
        ('per_day = "10%"', 3, 8.0, 2.4),
        ('per_day = "10%"', 11, 8.0, 8.0),  # never more than was earned
        ('per_day = "10%"\nat_most = "50%"', 11, 8.0, 4.0),
        ('per_day = "10%"\nat_most = 2', 11, 8.0, 2.0),
        ('per_day = "10%"\npercent_of = "possible"', 3, 8.0, 3.0),
        ('per_day = "10%"\npercent_of = "possible"\nat_most = "50%"', 30, 8.0, 5.0),
        ('per_day = "10%"\npercent_of = "possible"', 3, 2.0, 2.0),
        ("per_day = 1.5", 2, 8.0, 3.0),
        ("per_day = 1.5", 2, 2.0, 2.0),
        ("per_day = 1", 2, 0.0, 0.0),
        ("per_day = 1", 0, 8.0, 0.0),
        ("per_day = 1", 2, -1.0, 0.0),  # a person may take points off by hand
        ('per_day = "100%"', 1, 8.0, 8.0),
        ("per_day = 0", 9, 8.0, 0.0),
    ],
)
def test_what_days_cost(tmp_path: Path, text: str, days: int, earned: float, penalty: float) -> None:
    assert late(tmp_path, text).penalty(days, earned=earned, possible=10.0) == pytest.approx(penalty)


@pytest.fixture
def term(klass: ClassFolder, student: Students) -> ClassFolder:
    """Five of five points each, but for bo's two; due when the clock goes back a few hours later."""
    klass.terms_file.write_text(TERMS)
    handed = {
        "ada": "2026-10-24 21:58:00 UTC",
        "al": "2026-10-24 22:09:00 UTC",  # within the grace
        "bo": "2026-10-24 22:10:00 UTC",
        "bi": "2026-10-25 23:08:00 UTC",  # 25 hours and 9 minutes: one day by the clock, and the grace
        "ce": "2026-10-25 23:10:00 UTC",
        "cy": "2026-10-27 23:08:00 UTC",  # has three days more
        "di": "2026-11-20 11:00:00 UTC",
        "do": "",
    }
    for name, when in handed.items():
        answer = {"triple": ""} if name == "bo" else {}
        student(name).hand_in(**answer).with_name("timestamp.txt").write_text(when)
    return klass


EXPECTED = {"ada": 5, "al": 5, "bo": 1.8, "bi": 4.5, "ce": 4, "cy": 5, "di": 2.5, "do": 5}


def points(folder: ClassFolder) -> dict[str, float]:
    return {row.student: row.entries[0].points or 0.0 for row in grade_class(folder.root).rows}


def penalties(folder: ClassFolder) -> dict[str, float | None]:
    with Gradebook(folder.gradebook_url) as book:
        return {s.student_id: s.notebooks[0].late_submission_penalty for s in book.assignment_submissions(LESSON)}


def test_points_after_lateness(term: ClassFolder) -> None:
    assert points(term) == pytest.approx(EXPECTED)
    assert "4.5" in term.feedback("bi", LESSON).read_text()
    assert grade_class(term.root).changes == []


@pytest.mark.slow
def test_nbgraders_own_command_takes_off_the_same(term: ClassFolder, tmp_path: Path) -> None:
    theirs = ClassFolder(Path(shutil.copytree(term.root, tmp_path / "theirs")))
    grade_class(term.root)
    nbgrader(theirs, "autograde", LESSON)
    mine, its = dump(term.gradebook), dump(theirs.gradebook)
    for rows in ("submitted_assignment", "submitted_notebook", "grade"):
        assert mine[rows] == its[rows], rows
    with Gradebook(theirs.gradebook_url) as book:
        dates = {row.name: row.duedate and str(row.duedate) for row in book.assignments}
    assert dates == {LESSON: "2026-10-24 21:59:00", "01_powers": None}
    assert points(theirs) == pytest.approx(EXPECTED)


def test_rules_and_dates_that_change_later_are_shown_and_applied(term: ClassFolder, ran: list[str]) -> None:
    grade_class(term.root)
    ran.clear()
    term.terms_file.write_text(TERMS.replace('"10%"', "2").replace('"50%"', "3"))
    expected = {**EXPECTED, "bo": 0, "bi": 3, "ce": 2, "di": 2}
    asked: list[ScoreChange] = []

    def refuse(changes: list[ScoreChange]) -> bool:
        asked.extend(changes)
        return False

    shown = grade_class(term.root, dry_run=True).changes
    assert penalties(term)["bo"] == pytest.approx(0.2)
    grade_class(term.root, agree=refuse)
    assert shown == asked
    assert {each.student: each.after for each in asked} == {n: p for n, p in expected.items() if p != EXPECTED[n]}
    assert {each.student: each.before for each in asked}["bo"] == pytest.approx(1.8)
    assert asked[0].exercises == {"lateness": (-0.5, -2.0)}
    assert penalties(term)["bo"] == pytest.approx(0.2), "refused"
    assert points(term) == pytest.approx(expected)
    assert grade_class(term.root).changes == []

    term.terms_file.write_text(TERMS.replace("10-24", "11-01"))  # a later date
    assert points(term) == pytest.approx(dict.fromkeys(EXPECTED, 5) | {"bo": 2, "di": 2.5})
    term.terms_file.write_text(TERMS + '[extensions.di]\n"*" = "30 days"\n')
    assert points(term) == pytest.approx({**EXPECTED, "di": 5})
    term.terms_file.write_text("")
    assert points(term) == pytest.approx(dict.fromkeys(EXPECTED, 5) | {"bo": 2})
    assert set(penalties(term).values()) <= {None, 0.0}
    assert ran == [], "nothing was run again"


def test_the_page_follows_a_penalty(term: ClassFolder) -> None:
    grade_class(term.root)
    before = term.feedback("di", LESSON).read_text()
    term.terms_file.write_text(TERMS.replace('"50%"', '"20%"'))
    grade_class(term.root)
    after = term.feedback("di", LESSON).read_text()
    assert ("<b>2.5</b>" in before, "<b>4</b>" in after) == (True, True)


def test_a_person_who_scores_by_hand_later(term: ClassFolder) -> None:
    grade_class(term.root)
    with Gradebook(term.gradebook_url) as book:
        book.find_grade("test_triple", LESSON, LESSON, "di").manual_score = 1.0
        book.find_grade("test_double", LESSON, LESSON, "bo").manual_score = 0.0
        book.db.commit()
    found = points(term)
    assert found["di"] == pytest.approx(1.5), "half of three"
    assert found["bo"] == 0.0


def test_nbgraders_own_settings_and_another_plugin(term: ClassFolder) -> None:
    term.terms_file.write_text(TERMS.partition("[late]")[0])
    assert points(term)["di"] == 5
    config = term.config_file.read_text()
    term.config_file.write_text(config + "c.LateSubmissionPlugin.penalty_method = 'zero'\n")
    assert points(term)["di"] == 0
    plugin = """
from nbgrader.plugins import LateSubmissionPlugin
class AnHour(LateSubmissionPlugin):
    def late_submission_penalty(self, student_id, score, total_seconds_late):
        return total_seconds_late / 3600
c.AssignLatePenalties.plugin_class = AnHour
"""
    term.config_file.write_text(config + plugin)
    assert points(term)["bo"] == pytest.approx(2 - 11 / 60)
