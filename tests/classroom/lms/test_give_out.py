"""grader export-grades: files that Canvas and Moodle import, read back here by the rules of their own importers."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import example, given
from hypothesis import strategies as st
from nbgrader.api import Gradebook
from sqlalchemy.exc import SAWarning

from grader.classroom.folder import ClassFolder
from grader.classroom.sheet import safe, sheet_text
from grader.cli import main

LESSON, OTHER = "00_warm_up", "01_powers"

CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Essay (70),00_warm_up (77),01 Powers (78),Current Score,Final Score\n"
    ",,,,,,Manual Posting,,,\n"
    "    Points Possible,,,,,10,5,4,(read only),(read only)\n"
    '"Lovelace, Ada",4021,00815,ada,"=HYPERLINK(""http://x"")",9,,,90,90\n'
    '"Hopper, Grace",4022,00816,grace,Lecture,8,1.5,3,80,80\n'
    '"Ñuñez-García, José",4023,0017,jose@example.org,Lecture,7,EX,,70,70\n'
    '"Else, Nobody",4999,00999,nobody,Lecture,6,2,,60,60\n'
    '"Student, Test",5555,,d41d8cd98f,Lecture,,,,,\n'
)

MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
    "Last modified (submission),Last modified (grade),Feedback comments\n"
    'Participant 11,Ada Lovelace,ada@example.org,Submitted,,5.00,Yes,"Thursday, 1 October 2026, 9:00 PM",-,\n'
    'Participant 12,Grace Hopper,grace@example.org,Submitted,1.50,5.00,No,-,"Friday, 2 October 2026, 9:00 PM",Good\n'
    "Participant 13,Nobody Else,n@example.org,No submission,,5.00,Yes,-,-,\n"
)


def canvas_import(text: str) -> dict[tuple[str, str], str]:
    """What Canvas's GradebookImporter reads: cells by (user id, assignment id). Its header and row rules, in short."""
    header, *rows = list(csv.reader(io.StringIO(text)))
    assert "Student" in header[0]
    assert "ID" in header[1]
    section = header.index("Section")
    assert re.search(r"SIS\s+User\s+ID", header[2])
    assert re.search(r"SIS\s+Login\s+ID", header[3])
    titles = {}
    for column in range(section + 1, len(header)):
        if not re.search(r"(Current|Final|Override) (Score|Grade|Points|Status)", header[column]):
            number = re.search(r"\((\d+)\)$", header[column])
            assert number is not None
            titles[column] = number[1]
    cells = {}
    for row in rows:
        assert len(row) == len(header)
        if "Points Possible" in row[0]:
            continue
        if all(re.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*", cell, re.IGNORECASE) for cell in row):
            continue
        for column, assignment in titles.items():
            cells[row[1], assignment] = row[column].strip()
    return cells


def moodle_import(text: str) -> dict[str, tuple[str, str]]:
    """What Moodle's offline grade importer reads: (grade, last modified) by participant."""
    header, *rows = list(csv.reader(io.StringIO(text)))
    number, grade, modified = (header.index(name) for name in ("Identifier", "Grade", "Last modified (grade)"))
    return {row[number][len("Participant ") :]: (row[grade], row[modified]) for row in rows}


@pytest.fixture
def scored(listed: ClassFolder) -> ClassFolder:
    """ada 4.25 of 5, less 1.25 for lateness, and 4 of 4; grace 0 of 5 less 1; li 5 of 5, whom no template knows."""
    with warnings.catch_warnings(action="ignore", category=SAWarning), Gradebook(listed.gradebook_url) as gradebook:
        points: dict[tuple[str, str], list[float]] = {
            ("ada", LESSON): [2, 2.25],
            ("ada", OTHER): [4],
            ("grace", LESSON): [0, 0],
            ("li", LESSON): [2, 3],
        }
        for (student, lesson), scores in points.items():
            submission = gradebook.add_submission(lesson, student)
            for notebook in submission.notebooks:
                for grade, score in zip(sorted(notebook.grades, key=lambda g: g.name), scores, strict=True):
                    grade.manual_score = score
                if lesson == LESSON and student != "li":
                    notebook.late_submission_penalty = 1.25
        gradebook.db.commit()
    return listed


def export(folder: ClassFolder, out: Path, *words: str | Path) -> Result:
    return CliRunner().invoke(main, ["export-grades", str(folder.root), *map(str, words), "-o", str(out)])


def template(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "template.csv"
    path.write_text(text, encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_canvas(encoding: str, scored: ClassFolder, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    result = export(scored, out, "--for", "canvas", "--template", template(tmp_path, CANVAS, encoding))
    assert canvas_import(out.read_text(encoding="utf-8")) == {
        ("4021", "77"): "3", ("4021", "78"): "4",
        ("4022", "77"): "0", ("4022", "78"): "3",  # no score of ours: as it was
        ("4023", "77"): "EX", ("4023", "78"): "",
        ("4999", "77"): "2", ("4999", "78"): "",
    }  # fmt: skip
    assert result.exit_code == 1
    assert "Wrote 3 scores" in result.stdout
    assert "Else, Nobody (4999): nobody in the class's list" in result.stdout
    assert "Hopper, Grace (4022): no score for 01_powers" in result.stdout
    assert "no row for them, are the scores of 1: li." in result.stderr
    assert "li" in result.stderr
    assert "'=HYPERLINK" in out.read_text(encoding="utf-8")
    rows = list(csv.reader(out.open(encoding="utf-8")))
    assert rows[1][5:] == ["Manual Posting", ""]
    assert rows[2][5:] == ["5", "4"]


def test_canvas_again_on_its_own_result(scored: ClassFolder, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    export(scored, first, "--for", "canvas", "--template", template(tmp_path, CANVAS))
    export(scored, second, "--for", "canvas", "--template", first)
    assert second.read_text() == first.read_text()


def test_canvas_with_names_in_two_columns_and_semicolons(scored: ClassFolder, tmp_path: Path) -> None:
    text = "LastName;FirstName;ID;SIS Login ID;Section;Warm-up (1)\n    Points Possible;;;;;5\nLovelace;Ada;4021;x;L;\n"
    out = tmp_path / "out.csv"
    words = ("--for", "canvas", "--template", template(tmp_path, text), "--lesson", LESSON, "--column", "Warm-up")
    export(scored, out, *words)
    assert list(csv.reader(out.open()))[-1] == ["Lovelace", "Ada", "4021", "x", "L", "3"]


def test_canvas_with_other_points(scored: ClassFolder, tmp_path: Path) -> None:
    path, out = template(tmp_path, CANVAS.replace(",10,5,4,", ",10,100,4,")), tmp_path / "out.csv"
    result = export(scored, out, "--for", "canvas", "--template", path)
    assert result.exit_code == 2
    assert "00_warm_up is worth 5 points here and 100 in Canvas" in result.stderr
    assert not out.exists()
    export(scored, out, "--for", "canvas", "--template", path, "--scale")
    assert canvas_import(out.read_text())["4021", "77"] == "60"


def test_moodles_worksheet(scored: ClassFolder, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    words = ("--for", "moodle", "--template", template(tmp_path, MOODLE), "--lesson", LESSON)
    result = export(scored, out, *words)
    assert moodle_import(out.read_text()) == {
        "11": ("3", "-"),
        "12": ("0", "Friday, 2 October 2026, 9:00 PM"),
        "13": ("", "-"),
    }
    before, after = (list(csv.reader(io.StringIO(text))) for text in (MOODLE, out.read_text()))
    for old, new in zip(before, after, strict=True):
        assert [*old[:4], *old[5:9]] == [*new[:4], *new[5:]]  # without feedback, which the import would change
    assert "Moodle has locked the grade of Grace Hopper (Participant 12)" in result.stdout
    assert "Nobody Else (Participant 13): nobody" in result.stdout
    assert "li" in result.stderr


def test_a_csv_for_moodles_gradebook_and_for_people(scored: ClassFolder, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    assert export(scored, out, "--for", "moodle").exit_code == 0
    rows = {row["ID number"]: row for row in csv.DictReader(out.open())}
    assert rows["ada"] == {
        "ID number": "ada", "First name": "Ada", "Last name": "Lovelace", "Email address": "ada@example.org",
        LESSON: "3", OTHER: "4",
    }  # fmt: skip
    assert rows["0017"][LESSON] == ""
    assert export(scored, out, "--for", "csv").exit_code == 0
    assert out.read_bytes().startswith(b"\xef\xbb\xbf")
    people = {row["student"]: row for row in csv.DictReader(out.open(encoding="utf-8-sig"))}
    assert (people["out of"][LESSON], people["out of"]["total"]) == ("5", "9")
    assert (people["ada"]["total"], people["grace"]["total"], people["jl"]["total"]) == ("7", "0", "0")


@pytest.mark.parametrize(("text", "words", "said"), [
    ("a,b\n1,2\n", ["--for", "canvas"], "is no gradebook of Canvas"),
    (re.sub("00_warm_up|01 Powers", "Other", CANVAS), ["--for", "canvas"], "Its columns: Essay (70), Other (77)"),
    (CANVAS.replace("01 Powers", "00 warm up"), ["--for", "canvas"], "2 columns called"),
    (CANVAS, ["--for", "moodle", "--lesson", LESSON], "no grading worksheet"),
    (MOODLE, ["--for", "moodle"], "say which lesson"),
    (MOODLE.replace("5.00", "100.00"), ["--for", "moodle", "--lesson", LESSON], "100 in Moodle"),
    (CANVAS, ["--for", "canvas", "--column", "x"], "give --lesson"),
    (CANVAS, ["--for", "csv"], "needs none"),
    (CANVAS, ["--for", "canvas", "--lesson", "99_none"], "no lesson '99_none'"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(
    text: str, words: list[str], said: str, scored: ClassFolder, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    result = export(scored, out, *words, "--template", template(tmp_path, text))
    assert result.exit_code == 2
    assert said in result.stderr
    assert not out.exists()


def test_the_template_is_never_overwritten_and_canvas_needs_one(scored: ClassFolder, tmp_path: Path) -> None:
    path = template(tmp_path, CANVAS)
    assert "is the template" in export(scored, path, "--for", "canvas", "--template", path).stderr
    assert path.read_text() == CANVAS
    assert "--template FILE" in export(scored, tmp_path / "o.csv", "--for", "canvas").stderr
    assert "is a folder" in export(scored, tmp_path, "--for", "csv").stderr


def test_two_rows_for_one_student_get_no_score(scored: ClassFolder, tmp_path: Path) -> None:
    text = CANVAS + '"Lovelace, Ada",4021,00815,ada,Other,1,,,1,1\n'
    out = tmp_path / "out.csv"
    result = export(scored, out, "--for", "canvas", "--template", template(tmp_path, text))
    assert "two rows are this student" in result.stdout
    assert canvas_import(out.read_text())["4021", "77"] == ""
    assert "ada" in result.stderr


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd|' /C calc'!A0", "@SUM(1)", "\tx", "\r=x"])
def test_no_cell_is_a_formula(cell: str) -> None:
    (row,) = csv.reader(io.StringIO(sheet_text([[cell, "x"]]), newline=""))
    assert row[0] == f"'{cell}".replace("\r", "\n")


@example(cell="-1.5")
@given(cell=st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20))
def test_other_cells_come_back_as_they_were(cell: str) -> None:
    (row,) = csv.reader(io.StringIO(sheet_text([[cell, "end"]]), newline=""))
    assert row == [safe(cell), "end"]
    plain = cell.replace("\r\n", "\n").replace("\r", "\n")
    assert row[0] in (plain, f"'{plain}")
    assert not row[0].startswith(("=", "@", "\t", "\r", "\n"))


def test_grades_by_the_real_circle(
    listed: ClassFolder, write_zip: Callable[..., Path], notebook: Callable[..., str], lms: Any, tmp_path: Path
) -> None:
    """In from Canvas, graded in the sandbox, out to Canvas."""
    path = write_zip({lms.canvas("Lovelace, Ada", 4021, 1, "x-1.ipynb"): notebook(triple="")})
    run = CliRunner().invoke
    assert run(main, ["import-zip", str(listed.root), str(path)]).exit_code == 0
    assert run(main, ["grade", str(listed.root)]).exit_code == 0
    out = tmp_path / "out.csv"
    assert export(listed, out, "--for", "canvas", "--template", template(tmp_path, CANVAS)).exit_code == 0
    assert canvas_import(out.read_text())["4021", "77"] == "2"
