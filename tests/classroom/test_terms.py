"""class.toml: what an instructor writes there, what the commands write, and what the gradebook has of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.classroom.terms import Terms, read_terms
from grader.cli import main
from grader.errors import GraderError

Students = Callable[[str], Any]
HEAD = 'timezone = "Europe/Berlin"\n[due]\n00_warm_up = "2026-10-24 23:59"\n'


def invoke(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def terms(folder: ClassFolder, text: str) -> None:
    folder.terms_file.write_text(text, encoding="utf-8")


def due(folder: ClassFolder) -> dict[str, str | None]:
    with Gradebook(folder.gradebook_url) as book:
        return {row.name: row.duedate and str(row.duedate) for row in book.assignments}


def extension(folder: ClassFolder, student: str, lesson: str = "00_warm_up") -> timedelta | None:
    with Gradebook(folder.gradebook_url) as book:
        found: timedelta | None = book.find_submission(lesson, student).extension
        return found


# ---- new-class -------------------------------------------------------------------------------------------------------


def test_a_class_with_chosen_lessons_and_dates(tmp_path: Path, tiny_lessons: dict[str, NotebookNode]) -> None:
    made = new_class(
        tmp_path / "c",
        lessons=tiny_lessons,
        chosen=["01"],
        timezone="Europe/Berlin",
        due={"01_powers": "2026-10-24T23:59"},
    )
    assert (made.lessons, made.left_out) == (["01_powers"], ["00_warm_up"])
    assert due(made.folder) == {"01_powers": "2026-10-24 21:59:00"}
    text = made.folder.terms_file.read_text()
    again = new_class(made.folder.root, lessons=tiny_lessons)
    assert (again.lessons, again.left_out) == (["01_powers"], ["00_warm_up"]), "the choice stands"
    assert made.folder.terms_file.read_text() == text
    more = new_class(made.folder.root, lessons=tiny_lessons, chosen=["00_warm_up"], due={"00": "2026-10-25 23:59"})
    assert more.lessons == ["00_warm_up", "01_powers"]
    assert due(made.folder) == {"00_warm_up": "2026-10-25 22:59:00", "01_powers": "2026-10-24 21:59:00"}


def test_the_command_says_points_dates_and_what_to_do_next(tmp_path: Path) -> None:
    options = ["--lesson", "02", "--due", "02_relu=2026-10-05T23:59", "--timezone", "UTC"]
    done = invoke("new-class", tmp_path / "c", *options)
    assert done.exit_code == 0, done.output
    assert "02_relu      21  2026-10-05 23:59 UTC" in done.stdout
    assert "To add one: grader new-class" in done.stdout
    assert done.stdout.rstrip().endswith(f"grader grade {tmp_path / 'c'}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--due", "02_relu"], "says no time. Write it like: --due 02_relu=2026-10-05T23:59"),
        (["--due", "02_relu=soon"], "is no time"),
        (["--due", "02_relu=2026-10-05", "--timezone", "Berlin"], "there is no time zone 'Berlin'"),
        (["--lesson", "77"], "there is no lesson '77'"),
    ],
)
def test_options_that_mean_nothing(tmp_path: Path, options: list[str], said: str) -> None:
    done = invoke("new-class", tmp_path / "c", *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.output
    assert not list((tmp_path / "c").glob("release/*/*"))


def test_what_the_instructor_wrote_stays(klass: ClassFolder, tiny_lessons: dict[str, NotebookNode]) -> None:
    terms(klass, "# mine\n" + HEAD + "# until the holidays\n[late]\nper_day = 1 # a point\n")
    new_class(klass.root, lessons=tiny_lessons, due={"01_powers": "2026-11-01"})
    text = klass.terms_file.read_text()
    assert all(mine in text for mine in ("# mine", "# until the holidays", "per_day = 1 # a point"))
    assert due(klass) == {"00_warm_up": "2026-10-24 21:59:00", "01_powers": "2026-11-01 22:59:59"}


# ---- the file --------------------------------------------------------------------------------------------------------


def test_no_file_and_an_empty_one_say_nothing(tmp_path: Path) -> None:
    assert read_terms(tmp_path / "class.toml") == Terms()
    (tmp_path / "class.toml").write_text("")
    assert read_terms(tmp_path / "class.toml") == Terms()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("timezone = Europe/Berlin", "cannot be read: .*line 1"),
        ('timezone = "Middle/Earth"', "no time zone 'Middle/Earth'"),
        ("[due]\nx = 7", "due.x: 7 is no time"),
        ('[due]\nx = "later"', "due.x: 'later' is no time"),
        ("due = 3", "due is to be a table"),
        ("[dues]", "'dues', which means nothing. Known are: timezone, due, late, extensions"),
        ('[late]\nper_day = "a lot"', "late.per_day is 'a lot'"),
        ("[late]\nper_day = -1", "late.per_day is -1"),
        ("[late]\nper_day = nan", "late.per_day is nan"),
        ("[late]\ngrace_minutes = 5", "does not say what a day costs"),
        ('[late]\nper_day = 1\npercent_of = "all"', "percent_of is 'all'"),
        ("[late]\nper_day = 1\ngrace = 1", "'grace', which means nothing"),
        ("[extensions]\nada = 3", "ada is to be a table"),
        ('[extensions.ada]\nx = "3 weeks"', "extensions.ada.x: '3 weeks' is no time"),
        ('[due]\n"99_none" = "2026-10-05"', "names lesson '99_none', which the class has not. Its lessons: 00_warm_up"),
        ('[extensions.ada]\n"99_none" = "3 days"', "names lesson '99_none'"),
    ],
)
def test_mistakes_in_it_are_said_and_nothing_is_graded(
    klass: ClassFolder, student: Students, text: str, said: str
) -> None:
    student("ada").hand_in()
    terms(klass, text)
    with pytest.raises(GraderError, match=said) as told:
        grade_class(klass.root)
    assert "class.toml" in str(told.value)
    assert not list(klass.root.glob("autograded/*"))


def test_dates_follow_the_file_and_others_are_left_alone(klass: ClassFolder) -> None:
    with Gradebook(klass.gradebook_url) as book:
        book.update_or_create_assignment("01_powers", duedate="2026-01-01 12:00:00 UTC")  # as the formgrader does
    terms(klass, HEAD)
    grade_class(klass.root)
    assert due(klass) == {"00_warm_up": "2026-10-24 21:59:00", "01_powers": "2026-01-01 12:00:00"}
    terms(klass, HEAD.replace("10-24", "10-25"))
    grade_class(klass.root)
    assert due(klass)["00_warm_up"] == "2026-10-25 22:59:00"
    terms(klass, "")
    grade_class(klass.root)
    assert due(klass) == {"00_warm_up": None, "01_powers": "2026-01-01 12:00:00"}


# ---- extensions ------------------------------------------------------------------------------------------------------


def test_extensions_are_given_listed_and_taken_back(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in()
    terms(klass, "# dates\n" + HEAD)
    grade_class(klass.root)
    assert invoke("extend", klass.root).stdout == "Nobody has an extension.\n"
    done = invoke("extend", klass.root, "ada", "00", "--days", "1")
    assert "has until 2026-10-25 23:59 CET for 00_warm_up, due 2026-10-24 23:59 CEST" in done.stdout
    assert f"grader grade {klass.root}" in done.stdout
    assert extension(klass, "ada") == timedelta(hours=25), "the clock goes back in between"
    done = invoke("extend", klass.root, "zoe", "00_warm_up", "--until", "2026-10-31")
    assert "Nobody of the name 'zoe' is known" in done.stdout
    listed = invoke("extend", klass.root).stdout
    assert "ada      00_warm_up  2026-10-24 23:59 CEST  2026-10-25 23:59 CET" in listed
    assert "zoe      00_warm_up  2026-10-24 23:59 CEST  2026-10-31 23:59 CET" in listed
    assert "zoe" not in invoke("extend", klass.root, "ada").stdout
    assert invoke("extend", klass.root, "ada", "00", "--remove").exit_code == 0
    assert extension(klass, "ada") is None
    assert "# dates" in klass.terms_file.read_text()
    again = invoke("extend", klass.root, "ada", "00", "--remove")
    assert (again.exit_code, "ada has no extension for 00_warm_up" in again.stderr) == (2, True)


def test_an_extension_for_every_lesson_moves_with_the_dates(klass: ClassFolder, student: Students) -> None:
    terms(klass, HEAD)
    assert "2 more days for every lesson" in invoke("extend", klass.root, "bo", "--days", "2").stdout
    student("bo").hand_in()
    student("bo").hand_in("01_powers")
    grade_class(klass.root)
    assert extension(klass, "bo") == timedelta(hours=49)
    assert extension(klass, "bo", "01_powers") is None, "never late"
    text = klass.terms_file.read_text().replace("[due]\n", '[due]\n01_powers = "2026-12-01"\n')
    terms(klass, text.replace("10-24", "10-27"))
    grade_class(klass.root)
    assert extension(klass, "bo") == extension(klass, "bo", "01_powers") == timedelta(days=2)


def test_a_date_that_moves_behind_an_extension_leaves_nobody_less(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in()
    terms(klass, HEAD + '[extensions.ada]\n00_warm_up = "2026-10-25"\n')
    grade_class(klass.root)
    assert extension(klass, "ada") == timedelta(hours=25, seconds=59)
    terms(klass, klass.terms_file.read_text().replace("10-24", "10-30"))
    grade_class(klass.root)
    assert extension(klass, "ada") == timedelta(0)


def test_extensions_that_others_gave_stay(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in()
    terms(klass, HEAD)
    grade_class(klass.root)
    with Gradebook(klass.gradebook_url) as book:
        book.grant_extension("00_warm_up", "ada", days=5)
    grade_class(klass.root, force=True)
    assert extension(klass, "ada") == timedelta(days=5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ada", "--until", "2026-10-30"], "--until wants the lesson too"),
        (["ada", "00_warm_up", "--until", "2026-10-30", "--days", "1"], "one of --until, --days and --remove"),
        (["ada", "01", "--days", "1"], "01_powers has no due date to extend"),
        (["ada", "77", "--days", "1"], "there is no lesson '77'"),
        (["ada", "00", "--until", "2026-10-25 02:30"], "comes twice in Europe/Berlin"),
        (["--days", "1"], "name the student"),
    ],
)
def test_extensions_that_mean_nothing(klass: ClassFolder, words: list[str], said: str) -> None:
    terms(klass, HEAD)
    done = invoke("extend", klass.root, *words)
    assert (done.exit_code, said in done.stderr) == (2, True), done.output
    assert klass.terms_file.read_text() == HEAD


def test_names_of_all_kinds_have_extensions(klass: ClassFolder, student: Students) -> None:
    terms(klass, HEAD)
    names = ["müller, jörg", 'o\'neil "x"', "a.b", "1234", "a+b"]
    for name in names:
        assert invoke("extend", klass.root, name, "00", "--days", "1").exit_code == 0
        student(name).hand_in()
    grade_class(klass.root)
    assert [extension(klass, name) for name in names] == [timedelta(hours=25)] * len(names)
    assert datetime.fromisoformat(due(klass)["00_warm_up"] or "") == datetime(2026, 10, 24, 21, 59)


# ---- classes of earlier versions -------------------------------------------------------------------------------------


def test_a_class_without_the_file_works_and_gets_one(
    klass: ClassFolder, student: Students, tiny_lessons: dict[str, NotebookNode]
) -> None:
    klass.terms_file.unlink()
    config = klass.config_file.read_text().partition("# Several graders")[0] + "c.ExecuteLesson.timeout = 29\n"
    klass.config_file.write_text(config)
    student("ada").hand_in()
    before = grade_class(klass.root)
    for file in klass.private.glob("outcomes/*/*.json"):  # as they were written before answers and stamps were kept
        kept = json.loads(file.read_text())
        file.write_text(json.dumps({name: kept[name] for name in kept if name not in ("stamp", "answers")}))
    (klass.private / "sources.json").unlink()
    assert new_class(klass.root, lessons=tiny_lessons).existed
    assert klass.terms_file.exists()
    assert klass.config_file.read_text() == config, "the instructor's"
    after = grade_class(klass.root)
    assert [row.points for row in after.rows] == [row.points for row in before.rows] == [5.0]
    assert nbformat.read(klass.autograded("ada", "00_warm_up"), as_version=4)
