"""A built notebook: the same bytes every time and everywhere, and no answer in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from grader.lessons import Folders, build_release, instructor_notebook, notebook_text, read_lesson
from grader.lessons.regions import stubbed

NAMES = ["00_warm_up", "01_squares"]


@pytest.mark.parametrize("name", NAMES)
def test_release_is_the_golden_notebook(mini: Folders, name: str) -> None:
    built = notebook_text(build_release(mini.source(name)))
    golden = mini.notebook(name).read_bytes().decode("utf-8")
    assert built == golden, (
        "if the change is meant: grader build --force --solutions tests/data/mini_course/solutions"
    )


def test_bytes_do_not_depend_on_process_hash_seed_or_place(copied: Folders, mini: Folders) -> None:
    script = (
        "import sys; from grader.lessons import build_release, notebook_text; "
        "sys.stdout.buffer.write(notebook_text(build_release(sys.argv[1])).encode())"
    )
    texts = set()
    for seed, folders in (("1", mini), ("2", copied)):
        command = [sys.executable, "-c", script, str(folders.source("01_squares"))]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"}
        root = Path(__file__).parents[2]
        texts.add(subprocess.run(command, env=environment, cwd=root, check=True, capture_output=True).stdout)
    assert texts == {mini.notebook("01_squares").read_bytes()}


def test_windows_line_ends_build_the_same_notebook(copied: Folders) -> None:
    source = copied.source("01_squares")
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    assert notebook_text(build_release(source)).encode() == copied.notebook("01_squares").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_solution_or_hidden_test_is_in_the_notebook(mini: Folders, name: str) -> None:
    # An independent reading of the source: the regions as plain lines, found without our own parser.
    secret, inside = [], False
    for line in mini.source(name).read_text(encoding="utf-8").splitlines():
        if line.strip().startswith(("### BEGIN", "### END")):
            inside = line.strip().startswith("### BEGIN")
        elif inside:
            secret.append(line.strip())
    notebook = json.loads(mini.notebook(name).read_text(encoding="utf-8"))
    lines = {line.strip() for cell in notebook["cells"] for line in cell["source"]}
    assert secret
    assert not lines & set(secret)
    assert not [line for line in lines if "BEGIN " in line or "hidden" in line]


def test_the_stub_leaves_the_symbol_defined(mini: Folders) -> None:
    by_id = {cell.id: cell for cell in build_release(mini.source("00_warm_up")).cells}
    scope: dict[str, object] = {}
    exec(by_id["triple"].source, scope)
    with pytest.raises(NotImplementedError):
        scope["triple"](2)  # type: ignore[operator]


@pytest.mark.parametrize("name", NAMES)
def test_our_stub_is_nbgraders(mini: Folders, name: str) -> None:
    pairs = zip(read_lesson(mini.source(name)).cells, build_release(mini.source(name)).cells, strict=True)
    for instructor, student in pairs:
        # a region at the end of a cell may leave an empty last line
        assert stubbed(instructor.source).strip("\n") == student.source.strip("\n")


def test_instructor_notebook_keeps_everything_and_is_valid(mini: Folders) -> None:
    notebook = instructor_notebook(mini.source("01_squares"))
    nbformat.validate(notebook)
    by_id = {cell.id: cell.source for cell in notebook.cells}
    assert "return 2 * saved_for_square * grad_output" in by_id["square"]
    assert by_id["test_square"].split("\n")[-2] == 'grade("square", Square)'
    assert notebook.metadata.course.minutes == 10
    assert "jupytext" not in notebook.metadata


def test_cell_ids_are_unique_and_change_only_near_an_edit(copied: Folders) -> None:
    source = copied.source("01_squares")
    before = [cell.id for cell in read_lesson(source).cells]
    text = source.read_text(encoding="utf-8")
    head, tail = text.split("# %% [markdown]\n# ### Exercise `square`")
    source.write_text(
        f"{head}# %%\nx + x\n\n# %% [markdown]\n# ### Exercise `square`{tail}", encoding="utf-8"
    )
    after = [cell.id for cell in read_lesson(source).cells]
    assert len(set(after)) == len(after) == len(before) + 1
    assert after[before.index("square") + 1 :] == before[before.index("square") :]


def test_locking_as_students_meet_it(mini: Folders) -> None:
    by_id = {cell.id: cell.metadata for cell in build_release(mini.source("01_squares")).cells}
    assert by_id["test_square"]["editable"] is False
    assert by_id["test_square"]["deletable"] is False
    assert "editable" not in by_id["square"]
    assert by_id["square"]["deletable"] is False
    assert by_id["top-4"] == {"tags": ["picture"]}
