"""Damage to a copy of a submission is mended, said, and never changes what a sound notebook holds."""

from __future__ import annotations

import copy
from collections.abc import Callable

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from nbgrader.preprocessors import CheckCellMetadata, DeduplicateIds

from grader.classroom.master import Master, grade_id
from grader.classroom.repair import belonging, repair

DOUBLE = "def double(x):\n    return 2 * x"
TRIPLE = "def triple(x):\n    return 3 * x"


@pytest.fixture
def notebook(master: Master) -> NotebookNode:
    """A sound submission with right answers."""
    nb = copy.deepcopy(master.notebook)
    for cell in nb.cells:
        cell.source = {"double": DOUBLE, "triple": TRIPLE}.get(grade_id(cell), cell.source)
        if grade_id(cell).startswith("test_"):
            cell.source = master.released[grade_id(cell)]
    return nb


def cell(nb: NotebookNode, name: str) -> NotebookNode:
    found = [c for c in nb.cells if grade_id(c) == name]
    assert len(found) == 1
    only: NotebookNode = found[0]
    return only


def place(nb: NotebookNode, name: str) -> int:
    return next(i for i, c in enumerate(nb.cells) if c is cell(nb, name))


def assert_gradable(nb: NotebookNode, master: Master) -> None:
    """What nbgrader and the hidden tests need: each cell once, in order, tests with the instructor's text."""
    names = [grade_id(c) for c in nb.cells if grade_id(c)]
    assert sorted(names) == sorted(master.cells)
    for test in master.points:
        assert cell(nb, test).source == master.cells[test].source
        assert cell(nb, test).metadata.nbgrader == master.cells[test].metadata.nbgrader
        assert place(nb, test) > place(nb, str(master.solution_of(test)))
    nbformat.validate(nb)
    CheckCellMetadata().preprocess(nb, {})


def test_a_sound_notebook_comes_back_as_it_was(notebook: NotebookNode, master: Master) -> None:
    before = copy.deepcopy(notebook)
    mended, notes = repair(notebook, master)
    assert notes == []
    assert notebook == before
    assert [c.id for c in mended.cells] == [c.id for c in before.cells]
    assert cell(mended, "double").source == DOUBLE
    assert_gradable(mended, master)


def copy_to_end(nb: NotebookNode, name: str) -> None:
    nb.cells.append(copy.deepcopy(cell(nb, name)))


def copy_to_top(nb: NotebookNode, name: str) -> None:
    nb.cells.insert(0, copy.deepcopy(cell(nb, name)))


def delete(nb: NotebookNode, name: str) -> None:
    nb.cells.remove(cell(nb, name))


def strip(nb: NotebookNode, name: str) -> None:
    cell(nb, name).metadata = nbformat.from_dict({})


def retype(nb: NotebookNode, name: str) -> None:
    found = cell(nb, name)
    found.cell_type = "markdown"
    found.pop("outputs", None)
    found.pop("execution_count", None)


def move_to_top(nb: NotebookNode, name: str) -> None:
    found = cell(nb, name)
    nb.cells.remove(found)
    nb.cells.insert(0, found)


def damage_metadata(nb: NotebookNode, name: str) -> None:
    cell(nb, name).metadata.nbgrader = nbformat.from_dict({"grade_id": name, "points": -50, "schema_version": 99})


@pytest.mark.parametrize("name", ["double", "test_double", "triple", "test_triple"])
@pytest.mark.parametrize(
    "damage",
    [copy_to_end, copy_to_top, strip, retype, move_to_top, damage_metadata],
    ids=lambda f: str(f.__name__),
)
def test_damage_to_one_cell_costs_no_answer(
    damage: Callable[[NotebookNode, str], None], name: str, notebook: NotebookNode, master: Master
) -> None:
    damage(notebook, name)
    mended, _ = repair(notebook, master)
    assert_gradable(mended, master)
    assert cell(mended, "double").source == DOUBLE
    assert cell(mended, "triple").source == TRIPLE


@pytest.mark.parametrize("name", ["double", "test_double", "triple", "test_triple"])
def test_a_deleted_cell_is_put_back(name: str, notebook: NotebookNode, master: Master) -> None:
    delete(notebook, name)
    mended, notes = repair(notebook, master)
    assert_gradable(mended, master)
    assert any("missing" in note for note in notes)


def test_everything_stripped_is_known_by_its_text(notebook: NotebookNode, master: Master) -> None:
    for found in notebook.cells:
        found.metadata = nbformat.from_dict({})
        found.id = "same"
    mended, notes = repair(notebook, master)
    assert_gradable(mended, master)
    assert cell(mended, "triple").source == TRIPLE
    assert len(notes) == 1
    assert len({c.id for c in mended.cells}) == len(mended.cells)


def test_an_empty_notebook_gets_all_cells_back(master: Master) -> None:
    mended, _ = repair(nbformat.v4.new_notebook(), master)
    assert_gradable(mended, master)
    assert belonging(nbformat.v4.new_notebook(), master) == 0


def test_the_worked_on_answer_before_the_test_wins(notebook: NotebookNode, master: Master) -> None:
    """An untouched stub above and a stale copy below the test: the middle one is what the test saw."""
    answer = cell(notebook, "double")
    stub, stale = copy.deepcopy(answer), copy.deepcopy(answer)
    stub.source, stale.source = master.released["double"], "def double(x):\n    return 'stale'"
    notebook.cells.insert(place(notebook, "double"), stub)
    notebook.cells.append(stale)
    mended, notes = repair(notebook, master)
    assert cell(mended, "double").source == DOUBLE
    assert any("below its test" in note for note in notes)


def test_a_second_try_with_its_own_test_wins(notebook: NotebookNode, master: Master) -> None:
    again, test = copy.deepcopy(cell(notebook, "double")), copy.deepcopy(cell(notebook, "test_double"))
    cell(notebook, "double").source = "def double(x):\n    return x"
    notebook.cells += [again, test]
    mended, _ = repair(notebook, master)
    assert cell(mended, "double").source == DOUBLE
    assert_gradable(mended, master)


def test_an_answer_typed_into_a_copy_of_another_answer_cell(notebook: NotebookNode, master: Master) -> None:
    delete(notebook, "triple")
    typed = copy.deepcopy(cell(notebook, "double"))
    typed.source = TRIPLE
    notebook.cells.insert(place(notebook, "test_double") + 1, typed)
    mended, _ = repair(notebook, master)
    assert cell(mended, "double").source == DOUBLE
    assert cell(mended, "triple").source == TRIPLE


def test_an_edited_test_is_replaced_and_said(notebook: NotebookNode, master: Master) -> None:
    cell(notebook, "test_double").source = "2.0"
    mended, notes = repair(notebook, master)
    assert_gradable(mended, master)
    assert notes == ['changed, replaced by the instructor\'s text: the test of "double"']


def test_what_the_student_added_stays(notebook: NotebookNode, master: Master) -> None:
    notebook.cells.insert(2, new_code_cell("mine = 1"))
    mended, notes = repair(notebook, master)
    assert mended.cells[2].source == "mine = 1"
    assert notes == []


def test_answers_that_do_not_parse_keep_their_place(notebook: NotebookNode, master: Master) -> None:
    cell(notebook, "double").source = "def double(x):\n    return 2 *"
    copy_to_end(notebook, "double")
    mended, _ = repair(notebook, master)
    assert cell(mended, "double").source.endswith("2 *")


def test_nbgrader_alone_would_leave_two_cells_without_their_metadata(notebook: NotebookNode) -> None:
    """Why repair exists: of two cells nbgrader keeps the last, wherever it stands."""
    copy_to_end(notebook, "test_double")
    fixed, _ = DeduplicateIds().preprocess(notebook, {})
    assert fixed.cells[-1].metadata.nbgrader.grade_id == "test_double"
