"""Stubs put back: in a file byte for byte, in a notebook through the page; and no text of a learner's is ever lost."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import grader.exercises
from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.kept import kept
from grader.learning.notebook_text import find_cell, replace_source
from grader.learning.restore import find_notebook, restore, restore_file, stub_of
from grader.learning.workspace import find_lessons

REAL = grader.exercises.catalogue()
RELU = REAL["relu"]
MINE = "class MyReLU(Function):\n    'mein ReLU: größer als 0'\n"


@pytest.fixture(autouse=True)
def course(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exercise]:
    """The real course in place of the miniature one."""
    monkeypatch.setattr(grader.exercises, "catalogue", lambda: REAL)
    return REAL


@pytest.fixture
def notebook(folder: Path) -> Path:
    """The lesson in the learner's folder, worked in: an answer, outputs, a note of their own."""
    path = folder / "02_relu.ipynb"
    shutil.copy(find_lessons() / path.name, path)
    content = nbformat.read(path, as_version=4)
    for cell in content.cells:
        if cell.cell_type == "code":
            cell.execution_count = 3
            cell.outputs = [nbformat.v4.new_output("stream", text="a line\nand “another”\n")]
    content.cells.append(nbformat.v4.new_markdown_cell("my note"))
    nbformat.write(content, path)
    put(path, MINE)
    return path


def put(path: Path, text: str) -> None:
    """The learner's edit of the answer cell, saved as JupyterLab saves."""
    content = nbformat.read(path, as_version=4)
    next(c for c in content.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "relu").source = text
    nbformat.write(content, path)


def answer(path: Path) -> str:
    content = nbformat.read(path, as_version=4)
    return str(next(c.source for c in content.cells if c.metadata.get("nbgrader", {}).get("grade_id") == "relu"))


def without_answer(path: Path) -> list[Any]:
    content = json.loads(path.read_bytes())
    for cell in content["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "relu":
            cell["source"] = []
    return [content]


# ---- a file ----------------------------------------------------------------------------------------------------------


def test_every_exercise_has_a_stub() -> None:
    for exercise in REAL.values():
        text, cell_id = stub_of(exercise)
        assert "raise NotImplementedError" in text
        assert f"TODO {exercise.id}" in text
        assert cell_id == exercise.id


def test_same_bytes_as_if_the_exercise_had_never_been_touched(notebook: Path) -> None:
    stub, _ = stub_of(RELU)
    put(notebook, stub)
    before = notebook.read_bytes()
    put(notebook, MINE)
    done = restore_file(RELU, notebook)
    assert done.changed
    assert notebook.read_bytes() == before
    assert done.kept is not None
    assert done.kept.read_text(encoding="utf-8") == MINE
    assert done.kept.parent == notebook.parent / ".grader" / "kept"


@pytest.mark.parametrize("layout", [{"indent": 1}, {"indent": 2}, {"indent": "\t"}, {}, {"separators": (",", ":")}])
@pytest.mark.parametrize("as_list", [True, False])
def test_other_programs_layouts_stay_as_they_are(notebook: Path, layout: dict[str, Any], as_list: bool) -> None:
    content = json.loads(notebook.read_bytes())
    for cell in content["cells"]:
        cell["source"] = cell["source"] if as_list else "".join(cell["source"])
    text = json.dumps(content, ensure_ascii=True, **layout) + "\r\n"
    notebook.write_bytes(text.encode())
    cell = find_cell(text, "relu")
    assert cell is not None
    restore_file(RELU, notebook)
    new = notebook.read_bytes().decode()
    assert new[: cell.start] == text[: cell.start]
    assert new.endswith(text[cell.end :])
    assert answer(notebook) == stub_of(RELU)[0]
    as_others_would = json.dumps(json.loads(new), ensure_ascii=True, **layout) + "\r\n"
    assert new == as_others_would, "the new lines are laid out as the old ones were"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([1, 2, None]))
def test_any_text_by_any_other_and_back(old: str, new: str, indent: int | None) -> None:
    cells = [
        {"cell_type": "markdown", "source": ['"cells": ["source"]'], "metadata": {}},
        {"cell_type": "code", "source": old, "id": "a", "metadata": {"nbgrader": {"grade_id": "b"}}},
        {"source": [new], "metadata": {"nbgrader": {"grade_id": "relu"}}, "outputs": [{"source": "x"}]},
    ]
    text = json.dumps({"metadata": {"cells": []}, "cells": cells}, indent=indent, ensure_ascii=False)
    cell = find_cell(text, "b")
    assert cell is not None
    assert cell.source == old
    changed = replace_source(text, cell, new)
    again = find_cell(changed, "b")
    assert again is not None
    assert again.source == new
    assert replace_source(changed, again, old) == text
    assert find_cell(text, "c") is None


def test_several_times_and_undo_goes_back_one_by_one(notebook: Path) -> None:
    for text in ("first", "second", "third"):
        put(notebook, text)
        restore_file(RELU, notebook)
    put(notebook, "fourth")
    seen = []
    for _ in range(3):
        restore_file(RELU, notebook, undo=True)
        seen.append(answer(notebook))
    assert seen == ["third", "second", "first"]
    with pytest.raises(GraderError, match="Nothing to undo"):
        restore_file(RELU, notebook, undo=True)
    assert {path.read_text() for path in kept("relu", notebook.parent)} == {"first", "second", "third", "fourth"}


def test_what_is_the_stub_already_is_left_alone(notebook: Path) -> None:
    restore_file(RELU, notebook)
    before = notebook.stat().st_mtime_ns
    done = restore_file(RELU, notebook)
    assert (done.changed, done.kept) == (False, None)
    assert notebook.stat().st_mtime_ns == before
    assert len(kept("relu", notebook.parent)) == 1


def test_a_text_that_cannot_be_kept_is_not_replaced(notebook: Path) -> None:
    (notebook.parent / ".grader").mkdir()
    (notebook.parent / ".grader" / "kept").write_text("a file in the way")
    before = notebook.read_bytes()
    with pytest.raises(GraderError, match="Nothing was changed"):
        restore_file(RELU, notebook)
    assert notebook.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"cells": 3}', b'{"cells": [', b"\xff\xfe", b'{"cells": []}'])
def test_what_is_no_notebook_or_lacks_the_cell_is_said_and_left(folder: Path, content: bytes) -> None:
    path = folder / "02_relu.ipynb"
    path.write_bytes(content)
    with pytest.raises(GraderError, match="Nothing was changed"):
        restore_file(RELU, path)
    assert path.read_bytes() == content
    assert not (folder / ".grader").exists()


def test_notebook_is_found_here_in_a_class_folder_and_in_my_course(
    notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_notebook(RELU) == notebook
    below = notebook.parent / "02_relu"
    below.mkdir()
    notebook.rename(below / notebook.name)
    assert find_notebook(RELU) == below / notebook.name
    restore_file(RELU, below / notebook.name)
    monkeypatch.chdir(below)
    assert find_notebook(RELU) == below / notebook.name
    with pytest.raises(GraderError, match="--notebook FILE"):
        find_notebook(REAL["cube"])
    assert not (below / ".grader").exists(), "it would be handed in with the lesson"


# ---- a notebook ------------------------------------------------------------------------------------------------------


class Page:
    """What a kernel has of the page: the cell it was sent, and the payload that changes that cell."""

    def __init__(self, code: str, cell: str = "") -> None:
        self.request = {"content": {"code": code}, "metadata": {"cellId": cell} if cell else {}}
        self.text: str | None = None

    def get_parent(self) -> dict[str, Any]:
        return self.request

    def set_next_input(self, text: str, replace: bool) -> None:
        assert replace
        self.text = text


def ran(monkeypatch: pytest.MonkeyPatch, code: str, cell: str = "", *, undo: bool = False) -> tuple[str | None, str]:
    """The cell's new text (None: unchanged) and the card, after running `code` with the call in it."""
    page = Page(code, cell)
    shown: list[object] = []
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: page)
    monkeypatch.setattr("IPython.display.display", shown.append)
    restore("relu", undo=undo)
    (card,) = shown
    return page.text, str(card)


def test_the_answer_cell_that_says_so_turns_into_the_stub(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = notebook.read_bytes()
    text, card = ran(monkeypatch, 'class MyReLU:\n    x = 1\nrestore("relu")', "relu")
    assert text == stub_of(RELU)[0]
    assert "relu-002.py" in card
    texts = [path.read_text(encoding="utf-8") for path in kept("relu", notebook.parent)]
    assert texts == [MINE, "class MyReLU:\n    x = 1"], "what was saved last, then what was run"
    assert notebook.read_bytes() == before, "the page owns the file"
    assert journal.load().events[-1]["kind"] == "restore"
    text, _ = ran(monkeypatch, f"{text}\nrestore('relu', undo=True)", "relu", undo=True)
    assert text == "class MyReLU:\n    x = 1"
    text, _ = ran(monkeypatch, f"{text}\nrestore('relu', undo=True)", "relu", undo=True)
    assert text == MINE


def test_a_cell_emptied_for_the_call_keeps_what_was_saved(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = ran(monkeypatch, 'restore("relu")', "relu")
    assert text == stub_of(RELU)[0]
    assert [path.read_text(encoding="utf-8") for path in kept("relu", notebook.parent)] == [MINE]


@pytest.mark.parametrize(
    ("code", "cell"),
    [
        ("class MyReLU(Function):\n    pass\nrestore('relu')", ""),  # a page that does not name its cells
        ("  class  MyReLU:\n    pass\nrestore('relu')", "vscode-notebook-cell:/a.ipynb#W5"),
        ("restore('relu')  # again", "vscode-notebook-cell:/a.ipynb#W5"),
    ],
)
def test_pages_without_names_for_cells(notebook: Path, monkeypatch: pytest.MonkeyPatch, code: str, cell: str) -> None:
    assert ran(monkeypatch, code, cell)[0] == stub_of(RELU)[0]


@pytest.mark.parametrize(
    ("code", "cell"), [("restore('relu')", "relu-3"), ("restore('relu')", ""), ("x = 3\nrestore('relu')", "other")]
)
def test_another_cell_is_told_where_to_go(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, code: str, cell: str
) -> None:
    text, card = ran(monkeypatch, code, cell)
    assert text is None
    assert "Go to the cell with `class MyReLU`" in card
    assert not kept("relu", notebook.parent)


def test_undo_with_nothing_kept_and_unknown_ids_are_messages(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stub, _ = stub_of(RELU)
    put(notebook, stub)
    text, card = ran(monkeypatch, f"{stub}\nrestore('relu', undo=True)", "relu", undo=True)
    assert text is None
    assert "Nothing to undo" in card
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: None)
    restore("relo")
    assert "Did you mean `relu`" in capsys.readouterr().out


def test_nothing_in_a_grading_run(
    notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "s")
    restore("relu")
    assert capsys.readouterr().out == ""
    assert not (notebook.parent / ".grader").exists()
