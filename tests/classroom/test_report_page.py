"""The class report against counts of our own, for classes of all kinds; nothing hidden in it, nothing run from it."""

from __future__ import annotations

import csv
import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from nbgrader.api import Gradebook

from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class
from grader.classroom.tables import TABLES

from .test_class import invoke
from .test_feedback_page import Page

Students = Callable[[str], Any]
LESSON = "00_warm_up"
WRONG = {"double": "def double(x):\n    return x + 1"}
EVIL = "<script>alert(1)</script>"


def rows(folder: ClassFolder, table: str) -> list[dict[str, str]]:
    with (folder.root / "report" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def grade(folder: ClassFolder, *words: str) -> dict[str, Any]:
    result = invoke("grade", folder.root, "--json", *words)
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


@pytest.fixture
def crowd(klass: ClassFolder, student: Students) -> ClassFolder:
    """Twelve students of one lesson and the half of them of the other."""
    for number in range(12):
        who = student(f"s{number:02d}")
        if number < 5:
            who.hand_in(**WRONG)
        elif number < 7:
            who.hand_in(triple="")
        elif number == 7:
            who.write("{")
        else:
            who.hand_in()
        if number % 2:
            who.hand_in(
                "01_powers",
                square="def square(x):\n    return x" if number == 3 else "def square(x):\n    return x * x",
            )
    return klass


def test_the_tables_say_what_a_count_of_our_own_says(crowd: ClassFolder) -> None:
    told = grade(crowd)
    assert [path.stem for path in sorted((crowd.root / "report").iterdir())] == sorted(TABLES)
    people = {row["student"]: row for row in told["students"]}
    assert {row["student"]: float(row["total"]) for row in rows(crowd, "scores")} == {
        name: row["points"] for name, row in people.items()
    }
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in people.values():
        for lesson in row["lessons"].values():
            for name, result in lesson["exercises"].items():
                kind = "right" if result["passed"] else "partly" if result["points"] else "wrong"
                verdicts[name]["todo" if result["problem"] == "not written yet" else kind] += 1
    counted = {
        row["exercise"]: Counter({k: int(row[k]) for k in ("right", "partly", "wrong", "todo")})
        for row in rows(crowd, "exercises")
    }
    assert counted == verdicts
    assert {row["exercise"]: row["percent_right"] for row in rows(crowd, "exercises")} == {
        name: str(round(100 * kinds["right"] / kinds.total(), 1)) for name, kinds in verdicts.items()
    }
    (mistake,) = rows(crowd, "mistakes")
    assert (mistake["mistake"], mistake["students"], mistake["of"]) == ("wrong_factor", "5", "12")  # s03 has it twice
    assert mistake["exercises"] == "double:5 square:1"
    assert mistake["who"] == "s00, s01, s02, s03, s04"
    grouped = {(row["exercise"], row["diagnosis"]): int(row["students"]) for row in rows(crowd, "groups")}
    assert grouped == {("double", "wrong_factor"): 5, ("square", "wrong_factor"): 1}
    assert len(rows(crowd, "results")) == 11 * 2 + 6


def test_the_page_says_it_in_words(crowd: ClassFolder) -> None:
    told = grade(crowd)
    page = Page(crowd.report)
    page.assert_plain()
    points = [row["points"] for row in told["students"]]
    low, middle, high = statistics.quantiles(points, n=4, method="inclusive")
    said = (
        f"Half of the 12 students have {middle:g} of 9 points or more, the middle half has between {low:g} and {high:g}"
    )
    assert said in page.text
    assert "This was the first run" in page.text
    assert "the file is not valid JSON" in page.text
    assert "handed in" not in page.text.split("a word would help")[0].split("look first")[1]


def test_what_changed_since_the_last_run(crowd: ClassFolder, student: Students) -> None:
    grade(crowd)
    assert rows(crowd, "changes") == []
    student("s00").hand_in()
    student("new").hand_in()
    grade(crowd)
    changes = [tuple(row.values()) for row in rows(crowd, "changes")]
    assert changes == [("s00", LESSON, "4", "5"), ("new", LESSON, "", "5")]
    with Gradebook(crowd.gradebook_url) as gradebook:
        grade_ = gradebook.find_grade("test_double", LESSON, LESSON, "s05")
        grade_.manual_score, grade_.needs_manual_grade = 0.5, False
        gradebook.db.commit()
    assert invoke("report", crowd.root).exit_code == 0  # no run: still compared with what stood before the last one
    assert ("s05", LESSON, "2", "0.5") in [tuple(row.values()) for row in rows(crowd, "changes")]
    assert any(row["student"] == "s05" and "fewer points" in row["why"] for row in rows(crowd, "attention"))
    grade(crowd)
    assert [tuple(row.values()) for row in rows(crowd, "changes")] == [("s05", LESSON, "2", "0.5")]
    grade(crowd)
    assert rows(crowd, "changes") == []
    assert "No score is another one" in Page(crowd.report).text


def test_the_same_again(crowd: ClassFolder) -> None:
    grade(crowd)
    before = {path.name: path.read_bytes() for path in (crowd.root / "report").iterdir()}
    result = invoke("report", crowd.root, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["tables"] == str(crowd.root / "report")
    assert {path.name: path.read_bytes() for path in (crowd.root / "report").iterdir()} == before


@pytest.mark.parametrize("kind", ["empty", "one", "all right"])
def test_small_and_happy_classes(klass: ClassFolder, student: Students, kind: str) -> None:
    for name in {"empty": [], "one": ["ada"], "all right": ["ada", "bo", "cy"]}[kind]:
        student(name).hand_in()
    grade(klass)
    page = Page(klass.report)
    page.assert_plain()
    assert "No mistake that has a name" in page.text
    assert "No such pair" in page.text
    if kind == "empty":
        assert "Nobody is in the class yet" in page.text
    else:
        assert "of 9 points or more" in page.text
        assert "None fails" in page.text


def test_odd_names_and_code_stay_text(klass: ClassFolder, student: Students) -> None:
    names = ("<img src=x onerror=alert(1)>", "=1+1", "zoë łukasz", "学生", "a%2Fb?x#y")
    for name in names:
        student(name).hand_in(
            double=f"def double(x):\n    raise ValueError({EVIL!r})",
            triple="print('<b>')\ndef triple(x):\n    return 0",
        )
    grade(klass)
    page = Page(klass.report)
    page.assert_plain()
    assert all(name in page.text for name in names)
    assert {row["student"] for row in rows(klass, "scores")} == {"'=1+1" if n == "=1+1" else n for n in names}
    assert not [r for table in TABLES for r in rows(klass, table) if any(str(v).startswith("=") for v in r.values())]
    links = [value for name, value in page.attributes if name == "href" and value.startswith("feedback/")]
    assert any("a%252Fb%3Fx%23y" in link for link in links)


def test_nothing_hidden_is_in_the_report(crowd: ClassFolder) -> None:
    grade_class(crowd.root)
    invoke("report", crowd.root)
    texts = [path.read_text() for path in [crowd.report, *(crowd.root / "report").iterdir()]]
    for text in texts:
        assert crowd.secret() not in text
        assert "secret_points" not in text
        assert "HIDDEN" not in text
