"""The learner's folder: nothing a learner wrote is lost, what they did not touch stays up to date."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from grader.errors import GraderError
from grader.learning.workspace import DEFAULT_FOLDER, find_lessons, fingerprint, last_worked_in, resolve, seed


def notebook(*sources: str, output: str | None = None) -> str:
    """A notebook of code cells, with an output on each when one is given."""
    cells: list[dict[str, Any]] = []
    for source in sources:
        outputs = [] if output is None else [{"output_type": "stream", "name": "stdout", "text": output}]
        count = None if output is None else 1
        cell = {"cell_type": "code", "source": source, "outputs": outputs, "execution_count": count}
        cells.append({**cell, "metadata": {}})
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    folder = tmp_path / "lessons"
    folder.mkdir()
    (folder / "00_a.ipynb").write_text(notebook("old"))
    (folder / "01_b.ipynb").write_text(notebook("other"))
    (folder / "pictures" / ".cache").mkdir(parents=True)
    (folder / "pictures" / ".cache" / "x").write_text("not a part of the course")
    (folder / "pictures" / "line.svg").write_text("<svg/>")
    return folder


def test_a_new_folder_gets_every_lesson_byte_for_byte(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "deep" / "mine"
    done = seed(mine, lessons=lessons)
    assert done.added == ["00_a.ipynb", "01_b.ipynb", "pictures/line.svg"]
    for name in done.added:
        assert (mine / name).read_bytes() == (lessons / name).read_bytes()


def times(folder: Path) -> dict[Path, int]:
    """When each lesson and picture was last written."""
    found = [path for path in folder.rglob("*.*") if ".grader" not in path.parts and path.is_file()]
    assert found
    return {path: path.stat().st_mtime_ns for path in found}


def test_a_second_run_changes_nothing(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    before = times(mine)
    done = seed(mine, lessons=lessons)
    assert (done.added, done.refreshed, done.kept, done.beside) == ([], [], [], {})
    assert before == times(mine)


@pytest.mark.parametrize("ran_it", [False, True])
def test_an_untouched_lesson_is_refreshed_even_when_run(lessons: Path, tmp_path: Path, ran_it: bool) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    if ran_it:
        (mine / "00_a.ipynb").write_text(notebook("old", output="42"))
    (lessons / "00_a.ipynb").write_text(notebook("new"))
    done = seed(mine, lessons=lessons)
    assert done.refreshed == ["00_a.ipynb"]
    assert (mine / "00_a.ipynb").read_text() == notebook("new")


def test_outputs_stay_while_the_lesson_is_the_same(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    (mine / "00_a.ipynb").write_text(notebook("old", output="42"))
    seed(mine, lessons=lessons)
    assert "42" in (mine / "00_a.ipynb").read_text()


def test_an_edited_lesson_stays_and_the_new_one_is_put_beside_it_once(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    edited = notebook("old, with my answer")
    (mine / "00_a.ipynb").write_text(edited)
    assert seed(mine, lessons=lessons).beside == {}, "no newer version yet"

    (lessons / "00_a.ipynb").write_text(notebook("new"))
    assert seed(mine, lessons=lessons).beside == {"00_a.ipynb": "00_a.new.ipynb"}
    assert (mine / "00_a.ipynb").read_text() == edited
    assert (mine / "00_a.new.ipynb").read_text() == notebook("new")
    assert seed(mine, lessons=lessons).beside == {}, "said once"


def test_work_in_an_earlier_new_version_is_kept_too(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    (mine / "00_a.ipynb").write_text(notebook("mine"))
    (lessons / "00_a.ipynb").write_text(notebook("new"))
    seed(mine, lessons=lessons)
    (mine / "00_a.new.ipynb").write_text(notebook("new, with my answer"))
    (lessons / "00_a.ipynb").write_text(notebook("newer"))
    assert seed(mine, lessons=lessons).beside == {"00_a.ipynb": "00_a.new-2.ipynb"}
    assert (mine / "00_a.new.ipynb").read_text() == notebook("new, with my answer")


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"cells": 3}', '{"cells": [{}]}', "\x00\xff"])
def test_a_lesson_that_cannot_be_read_counts_as_edited(lessons: Path, tmp_path: Path, broken: str) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    (mine / "00_a.ipynb").write_text(broken)
    done = seed(mine, lessons=lessons)
    assert done.kept == ["00_a.ipynb"]
    assert (mine / "00_a.ipynb").read_text() == broken


@pytest.mark.parametrize("record", ["", "{", "[]", '{"handed_out": []}', "{}"])
def test_without_its_record_a_differing_lesson_is_kept(lessons: Path, tmp_path: Path, record: str) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    (mine / ".grader" / "lessons.json").write_text(record)
    (lessons / "00_a.ipynb").write_text(notebook("new"))
    done = seed(mine, lessons=lessons)
    assert done.beside == {"00_a.ipynb": "00_a.new.ipynb"}
    assert (mine / "00_a.ipynb").read_text() == notebook("old")


def test_a_deleted_lesson_comes_back_fresh(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    (mine / "00_a.ipynb").unlink()
    assert seed(mine, lessons=lessons).added == ["00_a.ipynb"]


def test_a_file_in_the_way_is_one_clear_message(lessons: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("a file")
    with pytest.raises(GraderError, match="Cannot write the course folder"):
        seed(tmp_path / "mine", lessons=lessons)


def test_the_fingerprint_sees_text_and_cell_type_but_not_how_the_source_is_split() -> None:
    whole = b'{"cells": [{"cell_type": "code", "source": "a\\nb"}]}'
    split = b'{"cells": [{"cell_type": "code", "source": ["a\\n", "b"]}]}'
    prose = b'{"cells": [{"cell_type": "markdown", "source": "a\\nb"}]}'
    assert fingerprint(whole, name="x.ipynb") == fingerprint(split, name="x.ipynb")
    assert fingerprint(whole, name="x.ipynb") != fingerprint(prose, name="x.ipynb")
    assert fingerprint(whole, name="x.csv") != fingerprint(split, name="x.csv")


def test_the_folder_is_the_one_asked_for_or_here_or_my_course(
    lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert resolve(Path("x")) == tmp_path / "x"
    assert resolve(None) == tmp_path / DEFAULT_FOLDER
    seed(tmp_path / DEFAULT_FOLDER, lessons=lessons)
    monkeypatch.chdir(tmp_path / DEFAULT_FOLDER)
    assert resolve(None) == tmp_path / DEFAULT_FOLDER, "no my-course/my-course"


def test_the_course_is_found_and_starts_with_lesson_00() -> None:
    names = sorted(path.name for path in find_lessons().glob("*.ipynb"))
    assert names[0].startswith("00_")


def test_last_worked_in_is_the_one_saved_last_and_an_update_is_no_work(lessons: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    seed(mine, lessons=lessons)
    assert last_worked_in(mine, lessons=lessons) is None
    (mine / "01_b.ipynb").write_text(notebook("other", output="run, not edited"))
    assert last_worked_in(mine, lessons=lessons) == "01_b.ipynb"
    (lessons / "00_a.ipynb").write_text(notebook("new"))
    assert seed(mine, lessons=lessons).refreshed == ["00_a.ipynb"]
    assert last_worked_in(mine, lessons=lessons) == "01_b.ipynb"
    (mine / "a copy of mine.ipynb").write_text(notebook("mine"))
    os.utime(mine / "a copy of mine.ipynb", ns=(2**62, 2**62))
    assert last_worked_in(mine, lessons=lessons) == "a copy of mine.ipynb"
