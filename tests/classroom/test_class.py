"""A class from making it to its report, through our own commands; nbgrader's own are in
test_nbgrader_commands.py."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.classroom.changes import ScoreChange
from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Entry, Writer
from grader.classroom.outcome import Outcome, Status
from grader.classroom.run import grade_class
from grader.classroom.settings import load_config
from grader.classroom.summary import ClassSummary, summarise
from grader.cli import main
from grader.errors import GraderError

Students = Callable[[str], Any]


def invoke(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def table(summary: ClassSummary) -> dict[str, list[float | None]]:
    return {row.student: [entry.points for entry in row.entries] for row in summary.rows}


def test_a_new_class_is_an_nbgrader_course(made: ClassFolder) -> None:
    assert made.lessons() == ["00_warm_up", "01_powers"]
    assert stat.S_IMODE(made.secret_file.stat().st_mode) == 0o600
    with Gradebook(made.gradebook_url) as gradebook:
        assert {a.name: a.max_score for a in gradebook.assignments} == {"00_warm_up": 5, "01_powers": 4}


def test_nothing_of_the_answers_or_the_secret_is_released(made: ClassFolder) -> None:
    texts = [path.read_text() for path in (made.root / "release").rglob("*") if path.is_file()]
    assert len(texts) == 2
    for text in texts:
        assert "secret_points" not in text
        assert "return 2 * x" not in text
        assert made.secret() not in text


def test_making_it_again_keeps_everything_and_refreshes_the_release(
    klass: ClassFolder, tiny_lessons: dict[str, NotebookNode], student: Students
) -> None:
    handed = student("ada").hand_in()
    secret, config, before = klass.secret(), klass.config_file.read_text(), handed.read_text()
    edited = nbformat.read(klass.source("01_powers"), as_version=4)
    edited.cells[0].source = "# My own words"
    nbformat.write(edited, klass.source("01_powers"))
    shutil.rmtree(klass.root / "release" / "00_warm_up")
    made = new_class(klass.root, lessons=tiny_lessons)
    assert made.existed
    assert made.kept == ["01_powers"]
    assert klass.lessons() == ["00_warm_up", "01_powers"]
    assert "My own words" in klass.release("01_powers").read_text()
    assert (klass.secret(), klass.config_file.read_text(), handed.read_text()) == (secret, config, before)


def test_a_refresh_that_nbgrader_refuses_leaves_the_old_release(
    klass: ClassFolder, tiny_lessons: dict[str, NotebookNode], student: Students
) -> None:
    student("ada").hand_in("01_powers")
    grade_class(klass.root)
    before = klass.release("01_powers").read_bytes()
    fewer = nbformat.from_dict(tiny_lessons["01_powers"])
    fewer = nbformat.v4.new_notebook(cells=fewer.cells[:-1], metadata=fewer.metadata)
    with pytest.raises(GraderError, match="nbgrader does not take lesson 01_powers"):
        new_class(klass.root, lessons={"01_powers": fewer})
    assert klass.release("01_powers").read_bytes() == before


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("dear")
    result = invoke("new-class", tmp_path)
    assert result.exit_code == 2
    assert "is not empty and is no class folder" in result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", ["grade", "report"])
def test_no_class_folder(command: str, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        result = invoke(command, folder)
        assert result.exit_code == 2
        assert f"is not a class folder: {folder}" in result.stderr
        assert f"grader new-class {folder}" in result.stderr
        assert "Traceback" not in result.output


def test_an_unknown_lesson_and_a_broken_setting(klass: ClassFolder) -> None:
    result = invoke("grade", klass.root, "--lesson", "99_none")
    assert result.exit_code == 2
    assert "00_warm_up, 01_powers" in result.stderr
    with klass.config_file.open("a") as file:
        file.write("c.ExecuteLesson.timeout = = 3\n")
    result = invoke("grade", klass.root)
    assert result.exit_code == 2
    lines = len(klass.config_file.read_text().splitlines())
    assert f"line {lines}: SyntaxError" in result.stderr


@pytest.fixture
def mixed(klass: ClassFolder, student: Students) -> ClassFolder:
    """Five students: right, wrong, broken, empty-handed, renamed; and a file that belongs to nobody."""
    student("ada").hand_in()
    student("ada").hand_in("01_powers")
    student("bo").hand_in(double="def double(x):\n    return x + 1")
    student("cy").write('{"cells": [')
    klass.submitted("di", "00_warm_up").mkdir(parents=True)
    student("ed").hand_in(triple="", name="warm up (final).ipynb")
    (klass.root / "submitted" / "notes.txt").write_text("?")
    student("ed").write("x", "02_unknown", name="x.py")
    return klass


def test_one_run_over_all_kinds(mixed: ClassFolder) -> None:
    result = invoke("grade", mixed.root, "--json")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    rows = {row["student"]: row["lessons"] for row in told["students"]}
    found = {name: (row["00_warm_up"]["points"], row["00_warm_up"]["status"]) for name, row in rows.items()}
    assert found == {
        "ada": (5.0, "graded"),
        "bo": (4.0, "graded"),
        "cy": (None, "unreadable"),
        "di": (None, "not submitted"),
        "ed": (2.0, "graded"),
    }
    assert rows["ada"]["01_powers"]["points"] == 4.0
    assert "line 1, column" in rows["cy"]["00_warm_up"]["reason"]
    assert "warm up (final).ipynb" in rows["ed"]["00_warm_up"]["notes"][0]
    assert [(m["exercise"], m["id"], m["students"]) for m in told["mistakes"]] == [("double", "wrong_factor", ["bo"])]
    assert told["not_graded_files"] == ["submitted/ed/02_unknown", "submitted/notes.txt"]
    assert told["counts"] == {"graded": 4, "needs-a-look": 0, "unreadable": 1, "not submitted": 5}
    assert_pages(mixed, told)


def assert_pages(folder: ClassFolder, told: dict[str, Any]) -> None:
    """Report and feedback: there, without hidden tests, without anything from outside."""
    assert (told["gradebook"], told["report"]) == (str(folder.gradebook), str(folder.report))
    report = folder.report.read_text()
    assert all(name in report for name in ("ada", "wrong factor", "cy", "01_powers"))
    assert "http" not in report
    pages = [path.read_text() for path in folder.root.glob("feedback/*/*/*.html")]
    assert len(pages) == 5
    for page in pages:
        assert "secret_points" not in page
        assert "HIDDEN TESTS" not in page
    assert "not a zero" in folder.feedback("cy", "00_warm_up").read_text()
    assert "<b>5</b> of 5 points" in folder.feedback("ada", "00_warm_up").read_text()


def test_nothing_is_run_twice_without_need(
    mixed: ClassFolder, student: Students, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    save = Writer.save

    def noted(self: Writer, entries: Sequence[Entry]) -> list[Exception | None]:
        ran.extend(f"{entry.student} {entry.lesson}" for entry in entries)
        return save(self, entries)

    monkeypatch.setattr(Writer, "save", noted)
    first = grade_class(mixed.root)
    assert sorted(ran) == ["ada 00_warm_up", "ada 01_powers", "bo 00_warm_up", "ed 00_warm_up"]
    ran.clear()
    assert table(grade_class(mixed.root)) == table(first)
    assert ran == []
    student("bo").hand_in()
    assert table(grade_class(mixed.root))["bo"] == [5.0, None]
    assert ran == ["bo 00_warm_up"]
    ran.clear()
    grade_class(mixed.root, lesson="01_powers", force=True)
    assert ran == ["ada 01_powers"]


def test_a_person_has_the_last_word(mixed: ClassFolder, student: Students) -> None:
    grade_class(mixed.root)
    with Gradebook(mixed.gradebook_url) as gradebook:
        grade = gradebook.find_grade("test_double", "00_warm_up", "00_warm_up", "bo")
        grade.manual_score, grade.needs_manual_grade = 1.5, False
        gradebook.find_comment("double", "00_warm_up", "00_warm_up", "bo").manual_comment = "see me"
        gradebook.db.commit()
    again = grade_class(mixed.root, force=True)
    assert table(again)["bo"] == [4.5, None]
    with Gradebook(mixed.gradebook_url) as gradebook:
        assert not gradebook.find_grade("test_double", "00_warm_up", "00_warm_up", "bo").needs_manual_grade
        assert gradebook.find_comment("double", "00_warm_up", "00_warm_up", "bo").comment == "see me"
        assert len(gradebook.assignment_submissions("00_warm_up")) == 3
    student("bo").hand_in()  # the automatic score changes: the person is asked again, the score stays
    assert table(grade_class(mixed.root))["bo"] == [4.5, None]
    with Gradebook(mixed.gradebook_url) as gradebook:
        assert gradebook.find_grade("test_double", "00_warm_up", "00_warm_up", "bo").needs_manual_grade


def test_a_broken_resubmission_keeps_the_grade(mixed: ClassFolder, student: Students) -> None:
    grade_class(mixed.root)
    student("ada").write("")
    summary = grade_class(mixed.root)
    entry = summary.rows[0].entries[0]
    assert (entry.status, entry.points) == (Status.UNREADABLE, 5.0)
    assert "last readable version stays" in entry.outcome.notes[-1]


def test_our_own_failure_is_said_and_tried_again(mixed: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        save = Writer.save

        def fail(self: Writer, entries: Sequence[Entry]) -> list[Exception | None]:
            full = OSError("disk full")
            return [full if entry.student == "bo" else save(self, [entry])[0] for entry in entries]

        patch.setattr(Writer, "save", fail)
        first = grade_class(mixed.root)
    assert table(first)["ada"] == [5.0, 4.0]
    look = Outcome.load(mixed, "bo", "00_warm_up")
    assert look is not None
    assert (look.status, "disk full" in look.reason) == (Status.LOOK, True)
    assert table(grade_class(mixed.root))["bo"] == [4.0, None]


def test_another_notebook_under_the_right_name(klass: ClassFolder, student: Students) -> None:
    student("ada").write(nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")])))
    entry = grade_class(klass.root).rows[0].entries[0]
    assert (entry.status, entry.points) == (Status.LOOK, 0.0)
    assert "probably another notebook" in entry.outcome.reason


def test_names_of_all_kinds_and_files_beside_the_notebook(klass: ClassFolder, student: Students) -> None:
    helper = "from helper import times\n\ndef double(x):\n    return times * x"
    for name in ("müller, jörg", "[a-z]*", "o'neil {x}", "1234", "a+b"):
        student(name).hand_in(double=helper).with_name("helper.py").write_text("times = 2\n")
    os.chmod(klass.submitted("1234", "00_warm_up") / "helper.py", 0o444)
    os.chmod(klass.submitted("1234", "00_warm_up") / "00_warm_up.ipynb", 0o444)
    assert {tuple(points) for points in table(grade_class(klass.root)).values()} == {(5.0, None)}
    assert table(grade_class(klass.root, force=True))["1234"] == [5.0, None]


def test_submissions_are_never_changed(mixed: ClassFolder) -> None:
    def state() -> dict[str, tuple[bytes, float]]:
        files = [p for p in (mixed.root / "submitted").rglob("*") if p.is_file()]
        return {str(p): (p.read_bytes(), p.stat().st_mtime) for p in files}

    before = state()
    grade_class(mixed.root)
    assert state() == before


def test_two_runs_do_not_share_a_gradebook(klass: ClassFolder) -> None:
    with klass.locked(), pytest.raises(GraderError, match="another run is working"):
        grade_class(klass.root)


def test_equal_submissions_are_run_once(klass: ClassFolder, student: Students, ran: list[str]) -> None:
    for name in ("ada", "bo", "cy"):
        student(name).hand_in(double="", triple="")
    assert table(grade_class(klass.root)) == {name: [0.0, None] for name in ("ada", "bo", "cy")}
    assert len(ran) == 1
    student("di").hand_in(double="", triple="")
    assert table(grade_class(klass.root))["di"] == [0.0, None]
    assert len(ran) == 1, "the journal knows it"


def test_the_head_of_a_run_says_where_and_in_what_sandbox(mixed: ClassFolder) -> None:
    result = invoke("grade", mixed.root, "--jobs", "1", "--json")
    assert result.stderr.startswith("Grading with 1 process on this machine, sandbox: ")
    assert json.loads(result.stdout)["grading"] in result.stderr


def changed_tests(folder: ClassFolder, lessons: dict[str, NotebookNode], lesson: str, old: str, new: str) -> None:
    """Release a lesson again with other hidden tests."""
    changed = nbformat.from_dict({name: nb for name, nb in lessons.items() if name == lesson})[lesson]
    for cell in changed.cells:
        cell.source = cell.source.replace(old, new)
    new_class(folder.root, lessons={**lessons, lesson: changed})


def test_a_changed_test_set_shows_what_it_changes_before_it_is_written(
    mixed: ClassFolder, tiny_lessons: dict[str, NotebookNode], ran: list[str]
) -> None:
    before = table(grade_class(mixed.root))
    ran.clear()
    changed_tests(mixed, tiny_lessons, "00_warm_up", "return 1.0 if", "return 0.5 if")
    asked: list[list[ScoreChange]] = []

    def refuse(changes: list[ScoreChange]) -> bool:
        asked.append(changes)
        return False

    refused = grade_class(mixed.root, agree=refuse)
    assert len(ran) == 3, "01_powers has not changed"
    expected = [ScoreChange("bo", "00_warm_up", 4.0, 3.5, {"double": (1.0, 0.5)})]
    assert asked == [expected]
    assert table(refused) == before
    assert [change.after for change in grade_class(mixed.root, dry_run=True).changes] == [3.5]
    assert table(grade_class(mixed.root))["bo"] == [3.5, None]
    assert len(ran) == 3, "the verdicts of the first time were used"
    assert grade_class(mixed.root).changes == []


def test_the_command_shows_the_difference(mixed: ClassFolder, tiny_lessons: dict[str, NotebookNode]) -> None:
    grade_class(mixed.root)
    changed_tests(mixed, tiny_lessons, "00_warm_up", "return 1.0 if", "return 0.5 if")
    result = invoke("grade", mixed.root, "--json")
    assert "double 1 → 0.5" in result.stderr
    assert json.loads(result.stdout)["score_changes"][0]["after"] == 3.5


def test_a_dry_run_enters_nothing(mixed: ClassFolder) -> None:
    result = invoke("grade", mixed.root, "--dry-run")
    assert result.exit_code == 0
    assert "What a run without --dry-run would enter" in result.stderr
    assert {row.student: row.entries[0].points for row in summarise(mixed, load_config(mixed)).rows}["ada"] is None
    assert not list(mixed.root.glob("autograded/*"))
    assert table(grade_class(mixed.root))["bo"] == [4.0, None]


def test_a_lost_gradebook_row_is_entered_again(mixed: ClassFolder) -> None:
    before = table(grade_class(mixed.root))
    with Gradebook(mixed.gradebook_url) as gradebook:
        gradebook.remove_submission("00_warm_up", "bo")
    assert table(grade_class(mixed.root)) == before


def test_damaged_records_cost_nothing_but_time(mixed: ClassFolder) -> None:
    before = table(grade_class(mixed.root))
    for file in [*mixed.private.glob("verdicts/*/*.json"), *mixed.private.glob("outcomes/*/*.json")]:
        file.write_text(file.read_text()[:40])
    assert table(grade_class(mixed.root)) == before
