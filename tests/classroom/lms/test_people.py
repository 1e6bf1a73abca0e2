"""Who is meant: names that an LMS has cut and joined find their student, and never another one."""

from __future__ import annotations

import io
import unicodedata
import zipfile
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from grader.classroom.lms.archive import Archive
from grader.classroom.lms.canvas import CANVAS
from grader.classroom.lms.moodle import MOODLE
from grader.classroom.lms.people import Roll
from grader.classroom.lms.piece import Person, Piece
from grader.classroom.students import Student

SLOW = [HealthCheck.function_scoped_fixture]
letters = st.text(st.characters(codec="utf-8", categories=["Lu", "Ll", "Lo", "Mn"], min_codepoint=48), max_size=12)
name = st.builds(lambda a, mark, b: f"{a}{mark}{b}", letters, st.sampled_from(["", "-", " ", "'", ", ", "."]), letters)
files = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="/\\"), max_size=20)


def read(layout: Any, path: str) -> list[Piece]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(path, "{}")
    pieces: list[Piece] = layout.read(Archive(buffer)).pieces
    return pieces


def tidy(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


@settings(suppress_health_check=SLOW, max_examples=300, deadline=None)
@example(first="Ada", last="O'Neil, Jr.", user=4021, upload=9, file="x_1_2_y.ipynb", late=True)
@example(first="Zoë-Ann", last="de la Ñ", user=1, upload=2, file="late_3_4_5.ipynb", late=False)
@given(
    first=name, last=name, user=st.integers(1, 10**15), upload=st.integers(1, 10**15), file=files, late=st.booleans()
)
def test_canvas_names_come_back(lms: Any, first: str, last: str, user: int, upload: int, file: str, late: bool) -> None:
    first, last, file = tidy(first), tidy(last), f"{file.strip(' .')}x.ipynb"
    assume(first and last)
    assume(any(letter.isalnum() for letter in first + last))
    (piece,) = read(CANVAS, lms.canvas(f"{last}, {first}", user, upload, file, late=late))
    assert piece.late == late
    assert piece.people[0].lms_ids == (str(user),)
    assert piece.order[0] == upload
    assert unicodedata.normalize("NFC", piece.file) == tidy(lms.canvas("x", 1, 2, file)).split("_", 3)[3]
    stranger = Student("other", "Somebody", "Else", lms_id=str(user + 1))
    for student in (Student("s1", first, last, lms_id=str(user)), Student("s1", first, last)):
        assert Roll([student, stranger]).find(piece.people[0]).students == ("s1",)
    assert Roll([stranger]).find(piece.people[0]).students == ()


@settings(suppress_health_check=SLOW, max_examples=300, deadline=None)
@example(first="Jean-Luc", last="Picard", number=12, file="02_relu.ipynb", folders=True, old=True)
@example(first="A", last="B", number=1, file="Bob_2_assignsubmission_file_x", folders=False, old=False)
@given(first=name, last=name, number=st.integers(1, 10**9), file=files, folders=st.booleans(), old=st.booleans())
def test_moodle_names_come_back(
    lms: Any, first: str, last: str, number: int, file: str, folders: bool, old: bool
) -> None:
    first, last, file = tidy(first), tidy(last), f"{file.strip(' ._')}x.ipynb"
    assume(any(letter.isalnum() for letter in first) and any(letter.isalnum() for letter in last))
    (piece,) = read(MOODLE, lms.moodle(f"{first} {last}", number, file, folders=folders, old=old))
    assert piece.file == unicodedata.normalize("NFC", file)
    roll = Roll([Student("s1", first, last), Student("other", "Somebody", "Else")])
    assert roll.find(piece.people[0]).students == ("s1",)
    assert Roll([Student("other", "Somebody", "Else")]).find(piece.people[0]).students == ()


def test_a_folder_of_a_students_own_names_nobody(lms: Any) -> None:
    inner = lms.moodle("Grace Hopper", 7, "x.ipynb")
    (piece,) = read(MOODLE, lms.moodle("Ada Lovelace", 6, inner))
    assert piece.people[0].name == "Ada Lovelace"
    assert piece.file == inner


@pytest.mark.parametrize(("path", "called", "anonymous"), [
    ("anon_Ab12c_77_x.ipynb", "anon_Ab12c", True), ("LATE_anon_Ab12c_77_x.ipynb", "anon_Ab12c", True),
    ("lovelaceada_late_4021_77_x.ipynb", "lovelaceada (4021)", False), ("_4021_77_x.ipynb", " (4021)", False),
])  # fmt: skip
def test_canvas_hides_names_and_older_versions_write_late_small(path: str, called: str, anonymous: bool) -> None:
    (piece,) = read(CANVAS, path)
    assert (piece.people[0].called, piece.people[0].anonymous) == (called, anonymous)
    assert piece.late == ("late_" in path.lower())


def roll() -> Roll:
    return Roll(
        [
            Student("ada", "Ada", "Lovelace", "Ada@Example.org", "4021", other_ids=("00815",)),
            Student("ada2", "Ada", "Lovelace", lms_id="4029"),
            Student("jose", "José", "Núñez", groups=("Team Rocket",)),
            Student("4021", "Mary", "Somerville", groups=("Team Rocket",)),
            Student("5000", "Emmy", "Noether"),
            Student("6000"),
        ]
    )


@pytest.mark.parametrize(("person", "students", "told"), [
    (Person("", "lovelaceada", lms_ids=("4021",)), ("ada",), "LMS id"),
    (Person("", "lovelaceada", lms_ids=("4029",)), ("ada2",), "LMS id"),
    (Person("", "Ada Lovelace"), (), "several are called so: ada, ada2"),
    (Person("", "Ada Lovelace", emails=("ada@example.ORG",)), ("ada",), "email"),
    (Person("", "A. Lovelace", ids=("00815",)), ("ada",), "id"),
    (Person("", "Ada Lovelace", emails=("ada@example.org",), ids=("00815",)), ("ada",), "email"),
    (Person("", "", emails=("ada@example.org",), ids=("6000",)), (), "those of several: 6000, ada"),
    (Person("", "Jose Nunez"), ("jose",), "name without accents"),
    (Person("", "Tutorial 3-José Núñez"), ("jose",), "name"),
    (Person("", "noetheremmy", lms_ids=("4021",)), (), "the LMS id is ada's, but the name is 5000's"),
    (Person("", "noetheremmy", lms_ids=("5000",)), ("5000",), "number"),
    (Person("", "somebodyelse", lms_ids=("5000",)), (), "the LMS's number is 5000's id, but the name is not"),
    (Person("", "somebodyelse", lms_ids=("6000",)), ("6000",), "number"),
    (Person("", "teamrocket", lms_ids=("4021",)), ("4021", "jose"), "group"),
    (Person("", "Team Rocket"), ("4021", "jose"), "group"),
    (Person("", "Nobody Knows", emails=("n@example.org",)), (), "nobody in the class's list has the name 'Nob"),
    (Person("", "Participant", anonymous=True), (), "hides who this is"),
])  # fmt: skip
def test_who_is_meant(person: Person, students: tuple[str, ...], told: str) -> None:
    match = roll().find(person)
    assert match.students == students
    assert told in (match.how if students else match.why_not)
