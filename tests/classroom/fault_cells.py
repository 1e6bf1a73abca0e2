"""Faults of cells: copied, deleted, moved, retyped, or damaged by a program. None costs a mark that the code earned."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.classroom.outcome import Status
from tests.classroom.fault_lesson import POINTS, Fault, Make, Sheet, code_cell, hand_in, named, place_of, solved

__all__ = ["CELLS"]

NO_ANSWERS = "none of the lesson's cells"


def edited(*changes: Callable[[Sheet], object]) -> Make:
    def make(place: Path, sheet: Sheet) -> None:
        for change in changes:
            change(sheet)
        hand_in(place, sheet)

    return make


def copied(name: str, *, to: int | str, **changes: Any) -> Callable[[Sheet], object]:
    """A copy of a cell with its nbgrader data, at a place or behind a cell."""

    def change(sheet: Sheet) -> None:
        cell = {**copy.deepcopy(named(sheet, name)), "id": f"{name}-copy", **changes}
        place = to if isinstance(to, int) else place_of(sheet, to) + 1
        sheet["cells"].insert(place, cell)

    return change


def deleted(*names: str) -> Callable[[Sheet], object]:
    return lambda sheet: [sheet["cells"].remove(named(sheet, name)) for name in names]


def changed(name: str, **entries: Any) -> Callable[[Sheet], object]:
    """Other entries of a cell; None takes one away."""

    def change(sheet: Sheet) -> None:
        cell = named(sheet, name)
        cell.update(entries)
        for key in [key for key, value in cell.items() if value is None and key != "execution_count"]:
            del cell[key]

    return change


def about(name: str, **entries: Any) -> Callable[[Sheet], object]:
    """Other nbgrader data of a cell."""
    return lambda sheet: named(sheet, name)["metadata"]["nbgrader"].update(entries)


def without_metadata(*names: str) -> Callable[[Sheet], object]:
    def change(sheet: Sheet) -> None:
        for cell in [named(sheet, name) for name in names] or sheet["cells"]:
            cell["metadata"] = {}

    return change


def moved(name: str, *, to: int) -> Callable[[Sheet], object]:
    return lambda sheet: sheet["cells"].insert(to, sheet["cells"].pop(place_of(sheet, name)))


def swapped(one: str, other: str) -> Callable[[Sheet], object]:
    """The nbgrader data of two cells, exchanged."""

    def change(sheet: Sheet) -> None:
        a, b = named(sheet, one), named(sheet, other)
        a["metadata"], b["metadata"] = b["metadata"], a["metadata"]

    return change


def merged(one: str, other: str) -> Callable[[Sheet], object]:
    """Two cells made one, which keeps the data of the first."""

    def change(sheet: Sheet) -> None:
        named(sheet, one)["source"] += "\n\n" + named(sheet, other)["source"]
        deleted(other)(sheet)

    return change


def inserted(*cells: Any) -> Callable[[Sheet], object]:
    """Whatever stands among the cells of the file."""

    def change(sheet: Sheet) -> None:
        sheet["cells"][2:2] = cells

    return change


def all_cells(**entries: Any) -> Callable[[Sheet], object]:
    return lambda sheet: [cell.update(copy.deepcopy(entries)) for cell in sheet["cells"]]


def in_lines(sheet: Sheet) -> None:
    """Sources as lists of lines, and of lists of them."""
    for number, cell in enumerate(sheet["cells"]):
        lines = cell["source"].splitlines(keepends=True)
        cell["source"] = [[line] for line in lines] if number % 2 else lines


def renamed(sheet: Sheet) -> None:
    about("cube", grade_id="my cube")(sheet)
    about("test_exp", grade_id="test exp 2")(sheet)


TESTS = [f"test_{name}" for name in POINTS]
TEN_THOUSAND = [code_cell(f"{n}", f"n{n}") for n in range(10_000)]
DEEP = json.loads('{"a":' * 300 + "1" + "}" * 300)
LONG = code_cell("# " + "long " * 500_000, "long")
STUB = "class Cube(Function):\n    pass"
TAMPERED = "grade = lambda *_: 4.0\n4.0"

CELLS = [
    Fault("copied test", edited(copied("test_cube", to=99)), says="there more than once", row="duplicate id"),
    Fault("copied test on top", edited(copied("test_cube", to=0)), says="there more than once", row="duplicate id"),
    Fault("copied answer", edited(copied("cube", to="about-cube", source=STUB)), says="more than once", row="duplicate id"),
    Fault("everything twice", edited(lambda sheet: sheet["cells"].extend(copy.deepcopy(sheet["cells"]))), says="more than once", row="duplicate id"),
    Fault("deleted test", edited(deleted("test_cube")), says="missing, put back", row="graded cell deleted"),
    Fault("deleted tests", edited(deleted(*TESTS)), says='the test of "exp"', row="graded cell deleted"),
    Fault("deleted answer", edited(deleted("cube")), 5, says='the answer "cube"', row="graded cell deleted"),
    Fault("answer in a cell of their own", edited(deleted("cube"), inserted(code_cell(solved("cube")))), says="known again", row="answer cell lost its metadata"),
    Fault("answer without data", edited(without_metadata("cube")), says="known again", row="answer cell lost its metadata"),
    Fault("no cell has data", edited(without_metadata()), says="known again", row="answer cell lost its metadata"),
    Fault("answer turned to text", edited(changed("cube", cell_type="markdown")), says="changed back", row="cell type changed"),
    Fault("test turned to text", edited(changed("test_cube", cell_type="raw", outputs=None)), says="changed back", row="cell type changed"),
    Fault("answer turned to a heading", edited(changed("cube", cell_type="heading", level=2)), says="changed back", row="cell type changed"),
    Fault("wrong checksum", edited(about("test_cube", checksum="0" * 32), about("exp", checksum=7)), row="inconsistent checksums"),
    Fault("edited test", edited(changed("test_cube", source=TAMPERED), changed("cube", source=STUB)), 5, says="replaced by the instructor's text", row="inconsistent checksums"),
    Fault("edited test, right answer", edited(changed("test_cube", source=TAMPERED)), says="replaced by the instructor's text", row="inconsistent checksums"),
    Fault("exchanged names", edited(swapped("cube", "exp"))),
    Fault("exchanged tests", edited(swapped("test_cube", "test_exp"))),
    Fault("answer and test exchanged", edited(swapped("cube", "test_cube")), says="held an answer"),
    Fault("answer in the test cell", edited(changed("test_cube", source=solved("cube")), changed("cube", source=STUB)), says="held an answer"),
    Fault("renamed cells", edited(renamed), says="known again"),
    Fault("more points", edited(about("test_cube", points=400))),
    Fault("points below zero", edited(about("test_cube", points=-4), about("test_exp", points="many"))),
    Fault("a test that is an answer", edited(about("test_cube", solution=True, grade=False, locked=False))),
    Fault("an answer that is graded", edited(about("cube", grade=True, points=50))),
    Fault("a graded cell more", edited(copied("test_cube", to=99, source="50.0"), about("test_cube", grade_id="bonus"))),
    Fault("names that are none", edited(about("cube", grade_id=["cube"]), about("exp", grade_id=None))),
    Fault("data of the future", edited(about("cube", schema_version=99), about("test_cube", schema_version="x"))),
    Fault("data that is none", edited(changed("cube", metadata=None), changed("exp", metadata={"nbgrader": "yes"}))),
    Fault("all tests first", edited(*(moved(name, to=1) for name in TESTS)), says="moved behind it"),
    Fault("upside down", edited(lambda sheet: sheet["cells"].reverse()), 2, says="NameError", row="passed in the live kernel, fails from the file"),
    Fault("answer and test made one", edited(merged("cube", "test_cube")), says="missing, put back"),
    Fault("all made one", edited(*(merged("imports", name) for name in ("vjp_square", "test_vjp_square", "cube", "test_cube"))), says="put back"),
    Fault("answer below its test", edited(changed("cube", source=STUB), lambda sheet: sheet["cells"].append(code_cell(solved("cube")))), 5, says="below its test cell"),
    Fault("things that are no cells", edited(inserted(None, "text", 7, [], {}))),
    Fault("cells without a source", edited(inserted({"cell_type": "code"}, {"cell_type": "code", "source": None}, {"source": {"a": 1}}))),
    Fault("sources in lists of lists", edited(in_lines)),
    Fault("metadata without end", edited(inserted({"cell_type": "code", "source": "1", "metadata": DEEP}))),
    Fault("no metadata", edited(inserted({"cell_type": "code", "source": "1", "metadata": None}))),
    Fault("outputs of no kind", edited(all_cells(outputs="none", execution_count="last"))),
    Fault("outputs out of order", edited(all_cells(outputs=[7, {"output_type": "poem"}, {"output_type": "stream"}]))),
    Fault("one id for all", edited(all_cells(id="same"))),
    Fault("ids of no kind", edited(all_cells(id=["x" * 300]))),
    Fault("attachments", edited(all_cells(attachments={"a.png": {"image/png": 7}}))),
    Fault("locked against editing", edited(all_cells(metadata={"editable": False, "deletable": False})), says="known again"),
    Fault("ten thousand cells", edited(inserted(*TEN_THOUSAND))),
    Fault("a cell of megabytes", edited(inserted(LONG))),
    Fault("no cell at all", edited(lambda sheet: sheet["cells"].clear()), 0, Status.LOOK, NO_ANSWERS),
    Fault("another notebook", edited(lambda sheet: sheet.update(cells=[code_cell("1")])), 0, Status.LOOK, NO_ANSWERS),
    Fault("half a character", edited(inserted(code_cell("word = '\ud83d'")), changed("top", source="\udc00"))),
    Fault("a NUL in a cell", edited(inserted(code_cell("a = 1\x00")))),
    Fault("nothing done", edited(*(changed(name, source=f"def {name}(): raise NotImplementedError") for name in POINTS)), 0),
]  # fmt: skip
