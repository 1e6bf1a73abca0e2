"""Faults of files and folders: what is handed in is not the notebook that was released, or not in its place."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.classroom.outcome import Status
from tests.classroom.fault_lesson import LESSON, Fault, Make, Sheet, code_cell, hand_in

__all__ = ["FILES", "MEGABYTES", "NAMES"]

MEGABYTES = 4  # the class's limit for a notebook, see test_faults.py
UNREADABLE, MISSING = Status.UNREADABLE, Status.MISSING


def raw(content: bytes) -> Make:
    return lambda place, _: (place / f"{LESSON}.ipynb").write_bytes(content)


def text(change: Callable[[str], str | bytes]) -> Make:
    """The file's text, changed."""

    def make(place: Path, sheet: Sheet) -> None:
        changed = change(json.dumps(sheet, indent=1))
        file = place / f"{LESSON}.ipynb"
        file.write_bytes(changed.encode() if isinstance(changed, str) else changed)

    return make


def under(*names: str) -> Make:
    """The notebook under these names."""
    return lambda place, sheet: [hand_in(place, sheet, name) for name in names]


def beside(name: str, content: str | bytes) -> Make:
    """The notebook, and another file."""

    def make(place: Path, sheet: Sheet) -> None:
        hand_in(place, sheet)
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return make


def only(name: str, content: str = "x = 1\n") -> Make:
    return lambda place, _: (place / name).write_text(content)


def notebook(**changes: Any) -> Make:
    """Other values at the top level of the file; None takes the entry away."""

    def make(place: Path, sheet: Sheet) -> None:
        sheet.update(changes)
        hand_in(place, {key: value for key, value in sheet.items() if value is not None})

    return make


def format_3(place: Path, sheet: Sheet) -> None:
    """As IPython 3 wrote it: worksheets, `input` for source."""
    cells = []
    for cell in sheet["cells"]:
        code = {
            "input": cell["source"].splitlines(keepends=True),
            "language": "python",
            "outputs": [],
            "collapsed": False,
        }
        about = {"cell_type": cell["cell_type"], "metadata": cell["metadata"]}
        cells.append(about | (code if cell["cell_type"] == "code" else {"source": cell["source"]}))
    sheets = [{"cells": cells, "metadata": {}}]
    hand_in(place, {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": sheets})


def format_4_0(place: Path, sheet: Sheet) -> None:
    for cell in sheet["cells"]:
        del cell["id"]
    hand_in(place, {**sheet, "nbformat_minor": 0})


def printed(megabytes: float) -> Make:
    """A notebook saved with that much output."""

    def make(place: Path, sheet: Sheet) -> None:
        cell = code_cell("print('x' * 1000)")
        out = {"output_type": "stream", "name": "stdout", "text": "x" * int(megabytes * 1e6)}
        sheet["cells"].append({**cell, "outputs": [out], "execution_count": 1})
        hand_in(place, sheet)

    return make


def folder_of_that_name(place: Path, sheet: Sheet) -> None:
    hand_in(place, sheet, f"{LESSON}.ipynb/{LESSON}.ipynb")


def linked(place: Path, sheet: Sheet) -> None:
    file = hand_in(place.parents[2], sheet, f"elsewhere-{place.parent.name}.ipynb")
    (place / f"{LESSON}.ipynb").symlink_to(file)


def linked_folder(place: Path, sheet: Sheet) -> None:
    """The lesson's folder itself is a link: an instructor keeps what was handed in elsewhere."""
    hand_in(place.parents[2] / f"elsewhere-{place.parent.name}", sheet)
    place.rmdir()
    place.symlink_to(place.parents[2] / f"elsewhere-{place.parent.name}")


def links_in_circles(place: Path, sheet: Sheet) -> None:
    hand_in(place, sheet)
    (place / "self").symlink_to(place)
    (place / "gone.py").symlink_to(place / "nowhere.py")
    (place / "root").symlink_to("/")


def pipe(place: Path, sheet: Sheet) -> None:
    """Who reads it waits for ever."""
    hand_in(place, sheet)
    os.mkfifo(place / "helper.py")
    os.mkfifo(place / "copy.ipynb")


def pipe_alone(place: Path, _: Sheet) -> None:
    os.mkfifo(place / f"{LESSON}.ipynb")


def another_copy(place: Path, sheet: Sheet) -> None:
    """Two of the right name, in folders and in other letters; the one in its place counts."""
    hand_in(place, sheet)
    blank = copy.deepcopy(sheet)
    for cell in blank["cells"]:
        cell["source"] = ""
    hand_in(place, blank, f"{LESSON.upper()}.ipynb")
    hand_in(place, blank, f"old/{LESSON}.ipynb")


def a_file_for_a_folder(place: Path, _: Sheet) -> None:
    place.rmdir()
    place.write_text("the lesson's folder is a file")


FULL_OF_NULS = raw(b"\x00" * 5000)
CONFLICT = '<<<<<<< HEAD\n  "nbformat": 4,\n=======\n  "nbformat": 3,\n>>>>>>> theirs\n'
TIMES: dict[str, str | bytes] = {
    "empty": "",
    "garbage": "yesterday, I think\n",
    "binary": b"\xff\xfe\x00\x81",
    "of the future": "2199-01-01 00:00:00 UTC",
    "of year 0": "0000-00-00 00:00:00",
    "in an odd zone": "2024-05-01 10:00:00 Mars/Phobos",
    "with an offset": "2024-05-01 10:00:00 +0545",
    "huge": "2024-05-01 " * 100_000,
}

FILES = [
    Fault("empty file", raw(b""), None, UNREADABLE, "the file is empty", row="empty file; broken JSON"),
    Fault("cut off", text(lambda t: t[:900]), None, UNREADABLE, "line ", row="empty file; broken JSON"),
    Fault("full of NULs", FULL_OF_NULS, None, UNREADABLE, "not valid JSON: line 1, column 1"),
    Fault("merge conflict", text(lambda t: t.replace("{\n", "{\n" + CONFLICT, 1)), None, UNREADABLE, "line 2, column 1"),
    Fault("UTF-16", text(lambda t: t.encode("utf-16")), None, UNREADABLE, "not UTF-8"),
    Fault("Latin-1", text(lambda t: t.replace("# Faults", "# Prüfung").encode("latin-1")), None, UNREADABLE, "not UTF-8"),
    Fault("byte order mark", text(lambda t: t.encode("utf-8-sig"))),
    Fault("a page of the web", raw(b"<!DOCTYPE html><html>Log in</html>"), None, UNREADABLE, "not valid JSON"),
    Fault("nested for ever", raw(b"[" * 100_000), None, UNREADABLE, "nested too deeply"),
    Fault("number of 5000 digits", text(lambda t: t.replace('"nbformat": 4', '"nbformat": ' + "4" * 5000)), None, UNREADABLE, "number"),
    Fault("no cells", notebook(cells=None), None, UNREADABLE, "no list of cells"),
    Fault("cells by name", notebook(cells={"a": 1}), None, UNREADABLE, "no list of cells"),
    Fault("format 3", format_3),
    Fault("format 4.0 without ids", format_4_0),
    Fault("format of the future", notebook(nbformat=9, nbformat_minor=99)),
    Fault("format in words", notebook(nbformat="four", nbformat_minor=[])),
    Fault("no kernel", notebook(metadata=None), row="kernel name absent or wrong"),
    Fault("metadata is a list", notebook(metadata=[1]), row="kernel name absent or wrong"),
    Fault("kernel Python 2", notebook(metadata={"kernelspec": {"name": "python2", "language": "python"}}), row="kernel name absent or wrong"),
    Fault("kernel R", notebook(metadata={"kernelspec": {"name": "ir", "language": "R"}, "language_info": {"name": "R"}}), row="kernel name absent or wrong"),
    Fault("kernel is a word", notebook(metadata={"kernelspec": "python3", "language_info": 3, "celltoolbar": []}), row="kernel name absent or wrong"),
    Fault("renamed", under(f"{LESSON} (1).ipynb"), says="is named", row="renamed notebook"),
    Fault("renamed strangely", under("Ünïcode — final [2] ?*.ipynb"), says="is named", row="renamed notebook"),
    Fault("in a folder more", under(f"hand in/{LESSON}.ipynb"), says="its cells are this lesson's", row="renamed notebook"),
    Fault("in other letters", under(f"{LESSON.upper()}.ipynb"), says="is named", row="renamed notebook"),
    Fault("two of the right name", another_copy, says="was not", row="renamed notebook"),
    Fault("in a folder named so", folder_of_that_name),
    Fault("rubbish of macOS", beside(f"__MACOSX/._{LESSON}.ipynb", b"\x00\x05\x16\x07\x00\x02Mac OS X")),
    Fault("backup of an editor", beside(f".ipynb_checkpoints/{LESSON}-checkpoint.ipynb", "{")),
    Fault("no notebook", only("answers.py"), None, MISSING, "only answers.py", row="folder with no notebook"),
    Fault("as a zip", only(f"{LESSON}.zip"), None, MISSING, f"only {LESSON}.zip", row="folder with no notebook"),
    Fault("with another ending", only(f"{LESSON}.ipynb.txt"), None, MISSING, "ipynb.txt", row="folder with no notebook"),
    Fault("an empty folder", lambda place, _: None, None, MISSING, "the folder is empty", row="folder with no notebook"),
    Fault("a file for a folder", a_file_for_a_folder, None, MISSING, row="folder with no notebook"),
    Fault("a link", linked, None, UNREADABLE, "link"),
    Fault("a linked folder", linked_folder),
    Fault("links in circles", links_in_circles),
    Fault("pipes beside it", pipe),
    Fault("a pipe", pipe_alone, None, UNREADABLE, "special file"),
    Fault("much output", printed(MEGABYTES - 1), row="huge file"),
    Fault("too much output", printed(MEGABYTES + 1), None, UNREADABLE, f"more than the {MEGABYTES} MB", row="huge file"),
    *(Fault(f"timestamp {name}", beside("timestamp.txt", content)) for name, content in TIMES.items()),
    Fault("timestamp a folder", beside("timestamp.txt/now", "2024")),
    Fault("read-only", lambda place, sheet: hand_in(place, sheet).chmod(0o444), row="output read-only"),
]  # fmt: skip

NAMES = [
    "-rf",
    "--help",
    "ada lovelace",
    "ADA LOVELACE",
    "名前",
    "zoë",
    'o\'neil "x"',
    "a;b $HOME `id`",
    "100%",
    "[a-z]*?",
    "{lesson}",
    "a\tb",
    "x" * 200,
    "é" * 120,
    "con",
    "trailing.",
    "<b>&amp;",
]
"""Students with a right submission, named so that a shell, a pattern, a page or a file system may stumble."""
