"""Class lists from everywhere: what is read, what is refused with its line, and what reaches the gradebook."""

from __future__ import annotations

import csv
import io
import sqlite3
import string
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from nbformat import NotebookNode
from nbgrader.api import Gradebook

from grader.classroom.folder import ClassFolder
from grader.classroom.settings import load_config
from grader.classroom.students import Entered, Student, enter_students, known_students, read_students
from grader.cli import main
from grader.errors import GraderError

ADA = Student("ada", "Ada", "Lovelace", "ada@example.org")
JOSE = Student("0017", "José", "Núñez, hijo", "jose@example.org")


def written(tmp_path: Path, text: str | bytes, encoding: str = "utf-8") -> Path:
    path = tmp_path / "students.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_dialect_of_csv(delimiter: str, encoding: str, newline: str, tmp_path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=newline)
    writer.writerow(["id", "first_name", "last_name", "email"])
    writer.writerows([s.id, s.first_name, s.last_name, s.email] for s in (ADA, JOSE))
    assert read_students(written(tmp_path, text.getvalue(), encoding)) == [ADA, JOSE]


def test_excels_own_first_line_and_blank_lines(tmp_path: Path) -> None:
    text = "sep=;\r\n\r\nid;first_name;last_name;email\r\n;;;\r\nada;Ada;Lovelace;ada@example.org\r\n\r\n"
    assert read_students(written(tmp_path, text)) == [ADA]


@pytest.mark.parametrize(
    "header",
    [
        "Student ID,First Name,Last Name,Email Address",
        "username,given_name,Surname,e-mail",
        "MATRIKELNUMMER,Vorname,Nachname,E-Mail",
        "login,FIRST,LAST,MAIL",
    ],
)
def test_headings_in_several_spellings(header: str, tmp_path: Path) -> None:
    assert read_students(written(tmp_path, f"{header}\nada,Ada,Lovelace,ada@example.org\n")) == [ADA]


@pytest.mark.parametrize(("name", "first", "last"), [
    ("Lovelace, Ada", "Ada", "Lovelace"), ("Ada King Lovelace", "Ada King", "Lovelace"), ("Madonna", "", "Madonna"),
])  # fmt: skip
def test_a_whole_name_in_one_column(name: str, first: str, last: str, tmp_path: Path) -> None:
    (student,) = read_students(written(tmp_path, f'id,name\nx,"{name}"\n'))
    assert (student.first_name, student.last_name) == (first, last)


def test_the_gradebook_that_canvas_exports_is_a_list(tmp_path: Path) -> None:
    text = (
        "Student,ID,SIS User ID,SIS Login ID,Section,02_relu (77),Final Score\n"
        ",,,,,Manual Posting,\n"
        "    Points Possible,,,,,10,(read only)\n"
        '"Lovelace, Ada",4021,00815,ada,Lecture,,\n'
        '"Student, Test",4999,,d41d8cd98f,Lecture,,\n'
    )
    assert read_students(written(tmp_path, text)) == [
        Student("ada", "Ada", "Lovelace", lms_id="4021", other_ids=("00815",))
    ]


def test_a_list_of_moodles_participants(tmp_path: Path) -> None:
    text = "First name,Surname,ID number,Email address,Groups\nAda,Lovelace,00815,ada@example.org,Red; Blue\n"
    (ada,) = read_students(written(tmp_path, text))
    assert (ada.id, ada.groups) == ("00815", ("Red", "Blue"))


@pytest.mark.parametrize(("identity", "said"), [
    ("ada lovelace", "a space in it"), ("ada+x", r"has '\+' in it"), ("a/b", "has '/' in it"), ("..", "no safe name"),
    ("a\\b", "in it"), (".ada", "no safe name"), ("-ada", "no safe name"), ("a..b", "no safe name"), ("", "no id"),
    ("a*", "in it"), ("x" * 129, "longer than 128"), ("李" * 90, "longer than"), ("ada\u200b", "invisible"),
])  # fmt: skip
def test_ids_that_cannot_be_are_refused_with_their_line(identity: str, said: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'id,name\ngrace,Grace Hopper\n"{identity}",Ada Lovelace\n')
    with pytest.raises(GraderError, match=rf"nothing was taken(.|\n)*line 3: .*{said}"):
        read_students(path)


@pytest.mark.parametrize("identity", ["0017", "12345678", "ada@example.org", "a.b", "zoë", "李明", "A-1_x", "d'Arc"])
def test_ids_that_can_be_are_kept_letter_for_letter(identity: str, tmp_path: Path) -> None:
    (student,) = read_students(written(tmp_path, f"id,name\n{identity},Ada Lovelace\n"))
    assert student.id == identity


def test_all_wrong_lines_are_in_one_message(tmp_path: Path) -> None:
    text = 'id,name\nada,A\n"two\nlines",B\nADA,C\nx y,D\nada,E\ngrace,"F, G",H\n'
    with pytest.raises(GraderError) as error:
        read_students(written(tmp_path, text))
    lines = [line.strip().split(":")[0] for line in str(error.value).splitlines()[1:]]
    assert lines == ["line 3", "line 5", "line 6", "line 7", "line 8"]
    assert "'ADA' is in line 2 already" in str(error.value)


@pytest.mark.parametrize(("content", "said"), [
    (b"", "is empty"), (b"PK\x03\x04rest", "save it as CSV"), (b"name,age\nAda,36\n", "no column for the students"),
    (b'id,name\nada,"Ada\n', "line 2: .*quote"), (b"id,name\n", "no student"), (b"id\0\1\2\0x,\n", "not text"),
])  # fmt: skip
def test_files_that_are_no_list(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=said):
        read_students(written(tmp_path, content))
    with pytest.raises(GraderError, match="cannot be read"):
        read_students(tmp_path / "nowhere.csv")


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs", "Cf", "Co", "Cn"]), max_size=30
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@example(first="=cmd", last='"', delimiter=";")
@given(first=texts, last=texts, delimiter=st.sampled_from(",;\t"))
def test_any_name_comes_back_as_it_was(first: str, last: str, delimiter: str, tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([["id", "first name", "last name"], ["x1", first, last]])
    (student,) = read_students(written(tmp_path, text.getvalue()))
    expected = tuple(unicodedata.normalize("NFC", part) for part in (first, last))
    assert (student.first_name, student.last_name) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100)
@given(identity=st.text(string.printable, min_size=1, max_size=20))
def test_an_id_is_a_name_of_a_folder_or_refused(identity: str, tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["id", "name"], [identity, "Ada Lovelace"]])
    try:
        (student,) = read_students(written(tmp_path, text.getvalue()))
    except GraderError:
        return
    assert student.id == identity.strip()
    assert (tmp_path / student.id).parent == tmp_path
    assert not set(student.id) & set("+/\\ ,*?[]")


def entries(folder: ClassFolder) -> dict[str, tuple[str | None, ...]]:
    with Gradebook(folder.gradebook_url) as gradebook:
        return {s.id: (s.first_name, s.last_name, s.email, s.lms_user_id) for s in gradebook.students}


def test_entering_adds_and_updates_and_never_removes(klass: ClassFolder) -> None:
    config = load_config(klass)
    grace = Student("grace", "Grace", "Hopper", "g@example.org", "4022", other_ids=("00815",))
    assert enter_students(klass, config, [ADA, grace]) == Entered(["ada", "grace"], [])
    assert enter_students(klass, config, [ADA, grace]) == Entered([], [])
    assert enter_students(klass, config, [Student("grace", "Grace B.")]) == Entered([], ["grace"])
    assert entries(klass) == {
        "ada": ("Ada", "Lovelace", "ada@example.org", None),
        "grace": ("Grace B.", "Hopper", "g@example.org", "4022"),
    }
    klass.submitted("stranger", "00_warm_up").mkdir(parents=True)
    known = {student.id: student for student in known_students(klass, config)}
    assert set(known) == {"ada", "grace", "stranger"}
    assert known["grace"].other_ids == ("00815",)


def test_a_locked_gradebook_enters_nobody(klass: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.classroom.ledger.PATIENCE", 0.1)
    other = sqlite3.connect(klass.gradebook)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(GraderError, match="locked by another program"):
        enter_students(klass, load_config(klass), [ADA])
    other.close()
    assert entries(klass) == {}


def test_new_class_takes_a_list(
    tmp_path: Path, tiny_lessons: dict[str, NotebookNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("grader.classroom.create.course_lessons", lambda: tiny_lessons)
    words = ["new-class", str(tmp_path / "class"), "--students", str(tmp_path / "students.csv")]
    written(tmp_path, "id,name\na b,C\n")
    assert CliRunner().invoke(main, words).exit_code == 2
    assert not (tmp_path / "class").exists()
    written(tmp_path, "id,name\n0017,José Núñez\n")
    assert "Students: 1 added, 0 updated." in CliRunner().invoke(main, words).output
    assert entries(ClassFolder.open(tmp_path / "class")) == {"0017": ("José", "Núñez", None, None)}
