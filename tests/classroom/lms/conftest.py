"""Zips as Canvas, Moodle and Gradescope make them, built by the naming that their public sources and pages tell.

What is built here follows the sources that the readers' docstrings name, and none of the readers' code.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.classroom.folder import ClassFolder
from grader.classroom.settings import load_config
from grader.classroom.students import Student, enter_students

ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "triple": "def triple(x):\n    return 3 * x",
    "square": "def square(x):\n    return x * x",
}


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    """A zip of `files`, by path."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return buffer.getvalue()


def canvas_name(sortable: str, user: int, upload: int, file: str, *, late: bool = False) -> str:
    """A file's name by Canvas's ContentZipper: get_user_name, get_filename, add_upload_submission."""
    name = re.sub(r"_(\d+)_", r"\1", sortable).lower()
    stem = "_".join([name, *(["LATE"] if late else []), str(user)])
    stem = "".join(letter for letter in stem if re.match(r"\w", letter))
    clean = re.sub(r'[\x00/\\:*?"<>|]+', "_", file)
    return f"{stem}_{upload}_{clean}"


def moodle_name(full: str, participant: int, file: str, *, folders: bool = True, old: bool = False) -> str:
    """A file's path by Moodle's mod_assign: the prefix, the plugin's type, then the file in its folder or behind."""
    prefix = full.replace("_", " ")
    stem = f"{prefix}_{participant}_assignsubmission_file"
    if not folders:
        return f"{stem}_{file}"
    return f"{stem}{'_' if old else ''}/{file}"


def gradescope(submissions: Mapping[str, tuple[list[dict[str, str]], str, dict[str, bytes | str]]]) -> dict[str, Any]:
    """An export: by folder the submitters, the time and the files."""
    root = "assignment_8046601_export/"
    lines, files = [], {}
    for folder, (people, created, content) in submissions.items():
        lines += [f"{folder}:", "  :submitters:"]
        for person in people:
            keys = [f":{key}: '{value}'" for key, value in person.items()]
            lines += [f"  - {keys[0]}", *(f"    {key}" for key in keys[1:])]
        lines += [f"  :created_at: {created}", "  :score: 0.0", "  :results:", "    tests: []"]
        for name, data in content.items():
            files[f"{root}{folder}/{name}"] = data
    return {f"{root}submission_metadata.yml": "\n".join(lines) + "\n", **files}


ROSTER = [
    Student("ada", "Ada", "Lovelace", "ada@example.org", "4021"),
    Student("grace", "Grace", "Hopper", "grace@example.org", "4022"),
    Student("0017", "José", "Ñuñez-García", "jose@example.org", "4023"),
    Student("li", "明", "李", "li@example.org", "4024", groups=("Team Rocket",)),
    Student("jl", "Jean-Luc", "O'Neil, Jr.", "jl@example.org", "4025", groups=("Team Rocket",)),
]


@pytest.fixture
def listed(klass: ClassFolder) -> ClassFolder:
    """The tiny class with five students in its list."""
    enter_students(klass, load_config(klass), ROSTER)
    return klass


@pytest.fixture
def roster() -> list[Student]:
    return list(ROSTER)


Notebook = Callable[..., str]


@pytest.fixture
def notebook(made: ClassFolder) -> Notebook:
    """The text of a right answer to a lesson, but for `answers` ("" leaves the stub)."""

    def text(lesson: str = "00_warm_up", **answers: str) -> str:
        released = nbformat.read(made.release(lesson), as_version=4)
        for cell in released.cells:
            answer = answers.get(cell.id, ANSWERS.get(cell.id, ""))
            if answer:
                cell.source = answer
        return json.dumps(released)

    return text


@pytest.fixture
def write_zip(tmp_path: Path) -> Callable[..., Path]:
    """Writes a zip of files by path, or of bytes as they are."""

    def write(files: Mapping[str, bytes | str] | bytes, name: str = "submissions.zip") -> Path:
        path = tmp_path / name
        path.write_bytes(files if isinstance(files, bytes) else zipped(files))
        return path

    return write


class Builders:
    """The builders above, for tests in other files."""

    zipped = staticmethod(zipped)
    canvas = staticmethod(canvas_name)
    moodle = staticmethod(moodle_name)
    gradescope = staticmethod(gradescope)


@pytest.fixture(scope="session")
def lms() -> type[Builders]:
    return Builders
