"""A source that cannot be built: one clear message with file and line, exit 2, nothing written, no traceback."""

# ruff: noqa: E501
from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.errors import GraderError
from grader.lessons import Folders, build_release, course_root, lesson_names, lesson_path


def build(folders: Folders, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["build", *words, "--solutions", str(folders.solutions)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def line_number(folders: Folders, name: str, needle: str) -> int:
    lines = folders.source(name).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if needle in line)


# (what is replaced, by what, the line the message must name, words it must hold)
BROKEN = {
    "syntax error": ("    return 2 * saved", "    return 2 ** * saved", "return 2 ** *", "syntax error"),
    "unclosed solution": ("    return \"b\"\n    ### END SOLUTION\n", "    return \"b\"\n", "### BEGIN SOLUTION", "never closed"),
    "end without begin": ("        ### BEGIN SOLUTION\n        ctx.save", "        ctx.save", "### END SOLUTION", "without a BEGIN"),
    "nested": ("        return x * x\n", "        ### BEGIN SOLUTION\n        return x * x\n", "### BEGIN SOLUTION", "second BEGIN"),
    "unclosed hidden tests": ("grade(\"square\", Square)\n### END HIDDEN TESTS\n", "grade(\"square\", Square)\n", "### BEGIN HIDDEN TESTS", "never closed"),
    "solution in a plain cell": ("x * x\n\n", "### BEGIN SOLUTION\nx * x\n### END SOLUTION\n\n", "### BEGIN SOLUTION", "outside a solution cell"),
    "delimiter in prose": ("# Two regions", "# Write BEGIN SOLUTION, two regions", "Write BEGIN SOLUTION", "reword"),
    "duplicate id": ('"grade_id": "who_squares"', '"grade_id": "square"', '"grade_id": "square", "locked": false', "taken by the cell"),
    "metadata without points": ('"points": 3, ', "", '"grade_id": "test_square"', "points"),
    "stub does not parse": ("        # TODO square: the gradient\n", "        if ctx:\n            pass\n        ### END SOLUTION\n", "### END SOLUTION", "without a BEGIN"),
    "no header": ("# ---\n# jupyter:", "# jupyter:", "# jupyter:", "starts with its header"),
    "header without course": ("#   course:", "#   curse:", "# ---", "no `course:` block"),
    "header not closed": ("#     title: Squares, and who calls whom\n# ---\n", "#     title: Squares\n", "# ---", "not closed"),
    "broken yaml": ("'answer a quiz: a function that returns a letter'", "answer a quiz: a: b", "a quiz: a: b", "quotes"),
    "text before the first cell": ("# ---\n\n# %% [markdown]\n# # 01", "# ---\n\nimport os\n\n# %% [markdown]\n# # 01", "import os", "outside any cell"),
    "marker in a string": ("    \"\"\"The letter", "    \"\"\"\n# %%\n    The letter", "# %%", "inside a string"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_message_names_file_and_line(copied: Folders, case: str) -> None:
    old, new, needle, words = BROKEN[case]
    source, notebook = copied.source("01_squares"), copied.notebook("01_squares").read_bytes()
    text = source.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    source.write_text(text.replace(old, new, 1), encoding="utf-8")
    code, output = build(copied, "--force")
    assert code == 2
    assert "01_squares.py:" in output
    assert words in output
    named = {int(part.split(":")[1]) for part in output.split() if "01_squares.py:" in part}
    lines = source.read_text(encoding="utf-8").splitlines()
    assert any(needle in lines[number - 1] for number in named), (named, output)
    assert "Traceback" not in output
    assert copied.notebook("01_squares").read_bytes() == notebook


def test_bytes_that_are_no_text(copied: Folders) -> None:
    source = copied.source("00_warm_up")
    source.write_bytes(source.read_bytes().replace("×".encode(), b"\xd7"))
    number = source.read_bytes().split(b"\xd7")[0].count(b"\n") + 1
    code, output = build(copied)
    assert code == 2
    assert f"00_warm_up.py:{number}: byte" in output
    assert "UTF-8" in output


@pytest.mark.parametrize("content", ["", "\n", "print(1)\n", "# ---\n# ---\n", "\x00\x01\n"])
def test_files_that_are_no_lesson(copied: Folders, content: str) -> None:
    copied.source("00_warm_up").write_text(content, encoding="utf-8")
    code, output = build(copied)
    assert code == 2
    assert "00_warm_up.py:1" in output


def test_one_broken_lesson_keeps_all_others_unwritten(copied: Folders) -> None:
    for name in copied.names():
        copied.notebook(name).unlink()
    copied.source("01_squares").write_text("nothing", encoding="utf-8")
    code, output = build(copied)
    assert code == 2
    assert "Nothing was written" in output
    assert list(copied.notebooks.glob("*.ipynb")) == []


def test_missing_source(tmp_path: Path) -> None:
    with pytest.raises(GraderError, match=r"05_gone\.py: there is no such lesson source"):
        build_release(tmp_path / "05_gone.py")


def test_a_folder_in_the_place_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "05_gone.py").mkdir()
    with pytest.raises(GraderError, match=r"05_gone\.py: cannot be read"):
        build_release(tmp_path / "05_gone.py")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("7", "no lesson '7'"),
        ("01_square_roots", "Did you mean 01_squares?"),
        ("0", "fits several lessons: 00_warm_up, 01_squares"),
        ("", "no lesson ''"),
    ],
)
def test_unknown_lesson(copied: Folders, word: str, message: str) -> None:
    code, output = build(copied, word)
    assert code == 2
    assert message in output


@pytest.mark.parametrize("word", ["01", "01_squares", "solutions/01_squares.py", "01_squares.ipynb"])
def test_ways_to_name_a_lesson(copied: Folders, word: str) -> None:
    assert copied.select([word]) == ["01_squares"]


def test_no_such_folder_and_no_lesson_in_it(tmp_path: Path) -> None:
    for folder, message in ((tmp_path / "none", "there is no folder"), (tmp_path, "holds no lesson")):
        result = CliRunner().invoke(main, ["build", "--solutions", str(folder)])
        assert result.exit_code == 2
        assert message in result.output


def test_course_is_found_upwards(copied: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    below = copied.notebooks / "pictures"
    monkeypatch.chdir(below)
    root = copied.solutions.parent
    assert course_root() == root
    assert course_root(below) == root
    assert lesson_names() == ["00_warm_up", "01_squares"]
    assert lesson_path("01", root) == copied.source("01_squares")


def test_no_course_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "grader.lessons.folders.__file__", str(tmp_path / "site" / "grader" / "lessons" / "f.py")
    )
    with pytest.raises(GraderError, match="clone of the course"):
        course_root(tmp_path)
