"""`grader build` and `grader build --check`: what is written, what is refused, what is printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.cli import main
from grader.lessons import Folders


def run(folders: Folders, *words: str) -> Result:
    return CliRunner().invoke(main, ["build", *words, "--solutions", str(folders.solutions)])


def change_source(folders: Folders) -> None:
    source = folders.source("01_squares")
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("Two regions in one cell", "Three regions in one cell"), encoding="utf-8")


def edit_notebook(path: Path, cell_id: str, **changes: object) -> None:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    next(cell for cell in notebook["cells"] if cell["id"] == cell_id).update(changes)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def test_check_passes_and_writes_nothing(copied: Folders) -> None:
    times = [copied.notebook(name).stat().st_mtime_ns for name in copied.names()]
    result = run(copied, "--check")
    assert (result.exit_code, result.output) == (0, "2 lessons compared, all notebooks as built\n")
    assert run(copied).output.endswith("no notebooks changed\n")
    assert times == [copied.notebook(name).stat().st_mtime_ns for name in copied.names()]


def test_check_prints_the_diff_and_a_command_that_mends_it(copied: Folders) -> None:
    change_source(copied)
    result = run(copied, "--check")
    assert result.exit_code == 1
    assert '-    "Two regions in one cell, and a quiz."' in result.output
    assert '+    "Three regions in one cell, and a quiz."' in result.output
    command = next(line for line in result.output.splitlines() if line.startswith("Run: grader "))
    mended = CliRunner().invoke(main, command.removeprefix("Run: grader ").split())
    assert mended.exit_code == 0
    assert run(copied, "--check").exit_code == 0


def test_check_sees_a_single_byte(copied: Folders) -> None:
    with copied.notebook("00_warm_up").open("ab") as file:
        file.write(b"\n")
    assert run(copied, "--check").exit_code == 1
    assert run(copied, "--check", "01").exit_code == 0


def test_check_names_a_missing_notebook_and_one_without_source(copied: Folders) -> None:
    copied.notebook("00_warm_up").rename(copied.notebook("07_gone"))
    (copied.notebooks / "my own notes.ipynb").write_text("{}", encoding="utf-8")
    result = run(copied, "--check")
    assert result.exit_code == 1
    assert "00_warm_up.ipynb: missing" in result.output
    assert "07_gone.ipynb: has no source" in result.output
    assert "my own notes" not in result.output


def test_build_writes_only_what_changed(copied: Folders) -> None:
    other = copied.notebook("00_warm_up").stat().st_mtime_ns
    change_source(copied)
    result = run(copied)
    assert result.exit_code == 0
    assert "01_squares.ipynb\n2 lessons built, 1 notebook changed\n" in result.output
    assert copied.notebook("00_warm_up").stat().st_mtime_ns == other
    assert sorted(path.name for path in copied.notebooks.iterdir()) == [
        "00_warm_up.ipynb",
        "01_squares.ipynb",
        "pictures",
    ]


def test_notebooks_folder_is_made(copied: Folders, tmp_path: Path) -> None:
    result = run(copied, "--notebooks", str(tmp_path / "new" / "place"))
    assert result.exit_code == 0
    for name in copied.names():
        assert (tmp_path / "new" / "place" / f"{name}.ipynb").read_bytes() == copied.notebook(
            name
        ).read_bytes()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"source": ["class Square(Function):\n", "    mine = True"]},
            "holds an answer (cell 'square' was edited)",
        ),
        ({"execution_count": 3}, "has been run"),
        ({"outputs": [{"output_type": "stream", "name": "stdout", "text": "1"}]}, "has been run"),
    ],
)
def test_answers_are_never_overwritten_unasked(
    copied: Folders, changes: dict[str, object], reason: str
) -> None:
    path = copied.notebook("01_squares")
    edit_notebook(path, "square", **changes)
    before = path.read_bytes()
    result = run(copied)
    assert result.exit_code == 2
    assert reason in result.output
    assert "--force" in result.output
    assert path.read_bytes() == before
    assert run(copied, "--force").exit_code == 0
    assert run(copied, "--check").exit_code == 0


@pytest.mark.parametrize(
    "data", [b"", b"<<<<<<< HEAD\n{}", b"\xff\xfe", b"[]", b'{"cells": 3, "nbformat": 4}']
)
def test_unreadable_notebook_is_reported_and_rebuilt_on_demand(copied: Folders, data: bytes) -> None:
    copied.notebook("01_squares").write_bytes(data)
    assert run(copied, "--check").exit_code == 1
    result = run(copied)
    assert result.exit_code == 2
    assert "is no readable notebook" in result.output
    assert run(copied, "--force").exit_code == 0
    assert run(copied, "--check").exit_code == 0


def test_long_diffs_are_cut(copied: Folders) -> None:
    source = copied.source("01_squares")
    more = "".join(f"# line {number}\n#\n" for number in range(100))
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("# Two regions", f"{more}# Two regions"), encoding="utf-8")
    result = run(copied, "--check")
    assert "more lines" in result.output
    assert len(result.output.splitlines()) < 75
