"""The list of a class: reading it from a CSV of any origin, and entering it into the gradebook."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from nbgrader import api
from sqlalchemy import select
from traitlets.config import Config

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.gradebook import course, course_id
from grader.classroom.ledger import Ledger, open_gradebook
from grader.classroom.sheet import Line, Sheet, read_sheet
from grader.errors import GraderError

__all__ = ["Entered", "Student", "enter_students", "known_students", "read_students", "split_name"]

# What columns are called, in other programs too; the first that is there gives the id.
IDS = (
    *("student id", "id", "username", "user name", "user", "login", "login id", "sis login id", "net id", "uid", "sid"),
    *("id number", "student number", "matriculation number", "Matrikelnummer", "Matrikel", "sis user id", "sis id"),
    *("integration id", "email", "email address", "mail"),
)
FIRST = ("first name", "first", "given name", "given names", "forename", "Vorname", "prénom", "nombre")
LAST = ("last name", "last", "surname", "family name", "Nachname", "nom", "apellidos", "apellido")
NAME = ("name", "full name", "student", "student name", "display name")
EMAIL = ("email", "email address", "mail", "E-Mail-Adresse", "SIS email")
LMS = ("lms id", "lms user id", "canvas id", "canvas user id", "moodle id", "gradescope id")
GROUP = ("group", "groups", "team")

LONGEST = 128  # what a column of nbgrader's gradebook takes
BYTES = 200  # a file system takes 255 for a name
FORBIDDEN = re.compile(r'[\s+/\\,*?\[\]<>:"|\x00-\x1f\x7f]')
FURTHER = "students.json"  # ids and groups for which the gradebook has no column


@dataclass(frozen=True)
class Student:
    """One student. lms_id: the gradebook's lms_user_id. other_ids: further ids by which an LMS may know them."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_id: str = ""
    other_ids: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entered:
    """Who was new to the gradebook and whose entry changed, by id. Nobody is ever removed."""

    added: list[str]
    updated: list[str]


def read_students(path: str | os.PathLike[str]) -> list[Student]:
    """The students in a CSV file, in its order; a gradebook exported from Canvas or Moodle will do.

    The first line names the columns, in any order and usual spelling; at least an id, username or email.
    Ids are kept letter for letter, leading zeros too. GraderError that lists every line that is wrong: ids
    that are missing, doubled, or cannot be the name of a folder and an nbgrader id. Then nothing is returned.
    """
    sheet = read_sheet(Path(path))
    columns = _Columns.of(sheet)
    students, problems = [], []
    seen: dict[str, int] = {}
    for line in sheet.lines:
        if columns.is_nobody(line):
            continue
        if len(line.cells) > len(sheet.header) and any(line.cells[len(sheet.header) :]):
            problems.append(f"line {line.number}: more cells than the first line names; a comma without quotes?")
            continue
        student = columns.student(line)
        problem = _problem(student)
        first = seen.setdefault(_same(student.id), line.number)
        if not problem and first != line.number:
            problem = f"the id {student.id!r} is in line {first} already (upper and lower case count as the same)"
        if problem:
            problems.append(f"line {line.number}: {problem}")
        students.append(student)
    if problems:
        more = f"\n  and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise GraderError(
            f"{path}: nothing was taken from it. Mend these lines:\n  " + "\n  ".join(problems[:20]) + more
        )
    if not students:
        raise GraderError(f"{path} names columns but no student")
    return students


@dataclass(frozen=True)
class _Columns:
    """Which column holds what."""

    id: int
    first: int | None
    last: int | None
    name: int | None
    email: int | None
    lms: int | None
    others: tuple[int, ...]
    group: int | None

    @classmethod
    def of(cls, sheet: Sheet) -> _Columns:
        canvas = sheet.column("student") == 0 and sheet.column("section") is not None  # its ID is its own number
        names = ("sis login id", "sis user id", "id") if canvas else IDS
        number = sheet.column(*names)
        if number is None:
            raise GraderError(
                f"{sheet.path}: no column for the students' ids among {', '.join(sheet.header)}. "
                "The first line must name the columns, for instance: id,first_name,last_name,email"
            )
        lms = sheet.column("id") if canvas else sheet.column(*LMS)
        email = sheet.column(*EMAIL)
        known = {sheet.column(name) for name in IDS if name not in EMAIL} | {sheet.column(name) for name in LMS}
        others = tuple(sorted(c for c in known - {number, lms, email} if c is not None))
        first, last, name, group = (sheet.column(*names) for names in (FIRST, LAST, NAME, GROUP))
        return cls(number, first, last, name, email, lms, others, group)

    def student(self, line: Line) -> Student:
        first, last = _cell(line, self.first), _cell(line, self.last)
        if not first and not last:
            first, last = split_name(_cell(line, self.name))
        others = tuple(dict.fromkeys(cell for column in self.others if (cell := _cell(line, column))))
        groups = tuple(part.strip() for part in _cell(line, self.group).split(";") if part.strip())
        identity = _cell(line, self.id)
        return Student(identity, first, last, _cell(line, self.email), _cell(line, self.lms), others, groups)

    def is_nobody(self, line: Line) -> bool:
        """Rows of a Canvas export that are no student: the points possible, posting policies, the test student."""
        cell = line.cells[self.name] if self.name is not None else ""
        rest = [text for text in line.cells if text]
        policy = all(re.fullmatch(r"(Muted|Manual Posting.*)", text, re.IGNORECASE) for text in rest)
        return cell in ("Points Possible", "Student, Test") or policy


def _cell(line: Line, column: int | None) -> str:
    return "" if column is None else unicodedata.normalize("NFC", line.cells[column])


def split_name(name: str) -> tuple[str, str]:
    """First and last name of "Last, First" or "First Last"."""
    if "," in name:
        last, _, first = name.partition(",")
        return first.strip(), last.strip()
    first, _, last = name.rpartition(" ")
    return first.strip(), last.strip()


def _same(identity: str) -> str:
    return unicodedata.normalize("NFKC", identity).casefold()


def _problem(student: Student) -> str:
    """Why nbgrader or a file system could not live with this entry, or ""."""
    identity = student.id
    if not identity:
        return "no id"
    if found := FORBIDDEN.search(identity):
        what = "a space" if found.group().isspace() else repr(found.group())
        return f"the id {identity!r} has {what} in it, which a folder's name or nbgrader cannot have"
    if identity.startswith((".", "-")) or ".." in identity or identity.endswith("."):
        return f"the id {identity!r} would be no safe name for a folder (dots or a hyphen where they mislead)"
    if any(unicodedata.category(letter) in ("Cf", "Co", "Cn", "Cs") for letter in identity):
        return f"the id {identity!r} has an invisible letter in it"
    texts = (identity, student.first_name, student.last_name, student.email, student.lms_id)
    if max(map(len, texts)) > LONGEST or len(identity.encode()) > BYTES:
        return f"a text is longer than {LONGEST} letters, which the gradebook cannot hold"
    return ""


def enter_students(folder: ClassFolder, config: Config, students: list[Student]) -> Entered:
    """Enter students into the gradebook: new ones are added, known ones get what the list says, an empty cell changes
    nothing, nobody is removed. All of it or, when the gradebook is locked (GraderError), nothing. Hold the class."""
    ledger = Ledger(course(folder, config).db_url, course_id(config))
    try:
        entered = ledger.batch(lambda: _enter(ledger, students))
    finally:
        ledger.close()
    further = folder.read_json(FURTHER)
    for student in students:
        told = {"other_ids": list(student.other_ids), "groups": list(student.groups)}
        told = further.get(student.id, {}) | {key: value for key, value in told.items() if value}
        if told:
            further[student.id] = told
    write_atomically(folder.private / FURTHER, json.dumps(further, indent=1, ensure_ascii=False) + "\n")
    return entered


def _enter(ledger: Ledger, students: list[Student]) -> Entered:
    entered = Entered([], [])
    known = {student.id: student for student in ledger.db.scalars(select(api.Student))}
    for student in students:
        names = {"first_name": student.first_name, "last_name": student.last_name}
        told = names | {"email": student.email, "lms_user_id": student.lms_id}
        told = {key: value for key, value in told.items() if value}
        row = known.get(student.id)
        if row is None:
            ledger.db.add(api.Student(id=student.id, **told))
            entered.added.append(student.id)
        elif any(getattr(row, key) != value for key, value in told.items()):
            for key, value in told.items():
                setattr(row, key, value)
            entered.updated.append(student.id)
    return entered


def known_students(folder: ClassFolder, config: Config) -> list[Student]:
    """Everyone the class knows, by id: from its gradebook, the list that was entered, the folders under submitted/."""
    further = folder.read_json(FURTHER)
    students = {name: Student(name) for name in folder.students()}
    with open_gradebook(course(folder, config).db_url, course_id(config)) as gradebook:
        for row in gradebook.students:
            told = further.get(row.id, {})
            students[row.id] = Student(
                row.id,
                row.first_name or "",
                row.last_name or "",
                row.email or "",
                row.lms_user_id or "",
                tuple(told.get("other_ids", ())),
                tuple(told.get("groups", ())),
            )
    return [students[name] for name in sorted(students)]
