"""Which file is taken for a submission, and what is said about one that cannot be read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nbformat
import pytest

from grader.classroom.handed_in import HandedIn, find
from grader.classroom.master import Master
from grader.classroom.repair import repair


@pytest.fixture
def sound(master: Master) -> str:
    return str(nbformat.writes(master.notebook))


def found(tmp_path: Path, master: Master, files: dict[str, str | bytes], limit: float = 1) -> HandedIn:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return find(tmp_path, master, limit=limit)


def test_the_named_file_is_taken(tmp_path: Path, master: Master, sound: str) -> None:
    result = found(tmp_path, master, {"00_warm_up.ipynb": sound, "00_warm_up (1).ipynb": "{}"})
    assert result.path == tmp_path / "00_warm_up.ipynb"
    assert result.notebook is not None
    assert "00_warm_up (1).ipynb was not" in result.notes[0]


@pytest.mark.parametrize("name", ["00_warm_up (1).ipynb", "final.ipynb", "00_Warm_Up.ipynb", "inner/00_warm_up.ipynb"])
def test_another_name_is_taken_when_the_cells_are_the_lessons(
    name: str, tmp_path: Path, master: Master, sound: str
) -> None:
    result = found(tmp_path, master, {name: sound, ".ipynb_checkpoints/00_warm_up-checkpoint.ipynb": sound})
    assert result.path == tmp_path / name
    assert result.problem is None


def test_a_readable_copy_stands_in_for_a_broken_file(tmp_path: Path, master: Master, sound: str) -> None:
    result = found(tmp_path, master, {"00_warm_up.ipynb": sound[:300], "copy.ipynb": sound})
    assert result.path == tmp_path / "copy.ipynb"


def test_of_two_equal_ones_the_newer(tmp_path: Path, master: Master, sound: str) -> None:
    found(tmp_path, master, {"a.ipynb": sound, "b.ipynb": sound})
    os.utime(tmp_path / "b.ipynb", (1, 1))
    result = find(tmp_path, master, limit=1)
    assert result.path == tmp_path / "a.ipynb"
    assert "the newest was taken" in result.notes[-1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b'{"cells": [\n  {"cell_type": }', "line 2, column 17"),
        (b'[{"cells": 3}]', "not a notebook"),
        (b'{"cells": "all"}', "not a notebook"),
        (b"\xff\xfe\x00\x01", "not UTF-8 text (byte 0)"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"cells": []}' + b" " * 2_000_000, "2 MB, more than the 1 MB allowed"),
        (b'{"worksheets": [{"cells": 7}], "nbformat": 3}', "old format"),
    ],
)
def test_what_cannot_be_read_is_said_in_words(content: bytes, said: str, tmp_path: Path, master: Master) -> None:
    result = found(tmp_path, master, {"00_warm_up.ipynb": content})
    assert result.notebook is None
    assert result.problem is not None
    assert said in result.problem


def test_another_notebook_is_named_as_such(tmp_path: Path, master: Master) -> None:
    other = nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]))
    result = found(tmp_path, master, {"homework.ipynb": other})
    assert result.problem is not None
    assert "none of this lesson's cells" in result.problem


def test_a_link_is_not_followed(tmp_path: Path, master: Master, sound: str) -> None:
    (tmp_path / "elsewhere.ipynb").write_text(sound)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "00_warm_up.ipynb").symlink_to(tmp_path / "elsewhere.ipynb")
    result = find(tmp_path / "in", master, limit=1)
    assert result.problem is not None
    assert "link" in result.problem


def test_a_folder_that_may_not_be_opened_is_no_empty_one(
    tmp_path: Path, master: Master, sound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may open everything, so the refusal is acted here."""
    (tmp_path / "in").mkdir()
    found(tmp_path, master, {"in/00_warm_up.ipynb": sound})
    scan = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("in"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert find(tmp_path, master, limit=1).problem == "the folder cannot be opened: Permission denied"


def test_nothing_handed_in(tmp_path: Path, master: Master) -> None:
    assert find(tmp_path / "nobody", master, limit=1) == HandedIn()
    assert "folder is empty" in find(tmp_path, master, limit=1).notes[0]
    assert "only answers.py" in found(tmp_path, master, {"answers.py": "x = 1"}).notes[0]


@pytest.mark.parametrize(
    "cell",
    [
        {},
        {"cell_type": "code"},
        {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": None, "outputs": "?"},
        {"cell_type": "poem", "source": 7, "metadata": []},
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": "yes"}},
        {"cell_type": "code", "source": "x", "metadata": {"nbgrader": {"grade_id": 5}}},
        "not a cell",
        None,
    ],
)
def test_damaged_cells_do_not_cost_the_others(cell: object, tmp_path: Path, master: Master, sound: str) -> None:
    content = json.loads(sound)
    content["cells"].insert(1, cell)
    result = found(tmp_path, master, {"00_warm_up.ipynb": json.dumps(content)})
    assert result.notebook is not None
    mended, notes = repair(result.notebook, master)
    nbformat.validate(mended)
    assert notes == []


def test_an_old_format_is_converted(tmp_path: Path, master: Master) -> None:
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {},
        "worksheets": [
            {
                "metadata": {},
                "cells": [
                    {
                        "cell_type": "code",
                        "language": "python",
                        "metadata": {},
                        "outputs": [],
                        "collapsed": False,
                        "input": "def double(x):\n    return 2 * x",
                    }
                ],
            }
        ],
    }
    result = found(tmp_path, master, {"00_warm_up.ipynb": json.dumps(old)})
    assert result.notebook is not None
    assert result.notebook.cells[0].source.startswith("def double")
