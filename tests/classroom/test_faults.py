"""Whatever is handed in, a run goes on: every kind of fault on a real class folder, beside students who did all well.

Each fault is one line in fault_files.py, fault_cells.py or fault_code.py and a student of its own in one class; the
class is graded once. A new kind is a new line.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from grader.classroom.create import new_class
from grader.classroom.folder import ClassFolder
from grader.classroom.outcome import Status
from grader.classroom.run import grade_class
from grader.classroom.summary import ClassSummary, Entry
from tests.classroom.fault_cells import CELLS
from tests.classroom.fault_code import CODE, HEAVY
from tests.classroom.fault_files import FILES, MEGABYTES, NAMES
from tests.classroom.fault_lesson import LESSON, OUT_OF, POINTS, Fault, Make, Sheet, hand_in, lesson, named, solved

BYSTANDERS = ("0 first of all", "m in between", "zz last of all")
SEEN = {
    "duplicate id",
    "graded cell deleted",
    "answer cell lost its metadata",
    "cell type changed",
    "inconsistent checksums",
    "kernel name absent or wrong",
    "renamed notebook",
    "empty file; broken JSON",
    "folder with no notebook",
    "infinite loop",
    "os._exit, segfault, kernel death",
    "sys.exit(), quit()",
    "input() left in",
    "a warning on stderr",
    "stray last expression scores full marks",
    "huge output",
    "huge file",
    "output read-only",
    "helper files: student's edits overwritten",
    "harness variable clobbers the student's",
    "passed in the live kernel, fails from the file",
}
"""Kinds reported to other graders that a single submission can have. What concerns a whole run has tests elsewhere."""


TABLES = {"files": FILES, "cells": CELLS, "code": CODE, "heavy": HEAVY}
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


class Graded:
    """A class that was graded, and what is said about each student."""

    def __init__(self, folder: ClassFolder, summary: ClassSummary) -> None:
        self.folder, self.summary = folder, summary
        self.entries: dict[str, Entry] = {row.student: row.entries[0] for row in summary.rows}

    def said(self, student: str) -> str:
        """The reason, the notes and the exercises' problems, one a line."""
        told = self.entries[student].outcome
        return "\n".join([told.reason, *told.notes, *(f"{r.exercise}: {r.problem}" for r in told.exercises)])

    def shown(self, student: str) -> str:
        """All of it that the student reads: what was said, and what stands below the cells."""
        file = self.folder.autograded(student, LESSON)
        cells = json.loads(file.read_text())["cells"] if file.exists() else []
        outputs = [out for cell in cells for out in cell.get("outputs", ())]
        texts = [out.get(key, "") for out in outputs for key in ("text", "ename", "evalue")]
        return "\n".join([self.said(student), *("".join(text) for text in texts)])

    def assert_bystanders_untouched(self) -> None:
        """Full marks and nothing to remark; the same maximum for everyone, whatever their file says."""
        for name in BYSTANDERS:
            assert (self.entries[name].points, self.entries[name].status) == (OUT_OF, Status.GRADED), self.said(name)
            assert self.said(name).split() == [f"{exercise}:" for exercise in POINTS]
        assert {entry.out_of for entry in self.entries.values()} == {OUT_OF}
        with Gradebook(self.folder.gradebook_url) as gradebook:
            entered = {s.student_id: (s.score, s.max_score) for s in gradebook.assignment_submissions(LESSON)}
        shown = {name: (e.points, OUT_OF) for name, e in self.entries.items() if e.points is not None}
        assert entered == shown


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """A class with the lesson, short limits and no submission; copied, not changed."""
    folder = new_class(tmp_path_factory.mktemp("faults") / "class", lessons={LESSON: lesson()}).folder
    with folder.config_file.open("a") as file:
        file.write("c.ExecuteLesson.timeout = 3\nc.ExecuteLesson.submission_timeout = 60\n")
        file.write(f"c.GradingRun.max_notebook_megabytes = {MEGABYTES}\n")
    return folder


@pytest.fixture(scope="module")
def sheet(made: ClassFolder) -> Sheet:
    """The released notebook with right answers."""
    found: Sheet = json.loads(made.release(LESSON).read_text())
    for cell in found["cells"]:
        cell["source"] = "".join(cell["source"])
    for name in POINTS:
        named(found, name)["source"] = solved(name)
    return found


class Classes:
    """Copies of the class, filled and graded; each table once."""

    def __init__(self, made: ClassFolder, sheet: Sheet, root: Path) -> None:
        self.made, self.sheet, self.root = made, sheet, root
        self._done: dict[str, Graded] = {}

    def of(self, table: str) -> Graded:
        if table not in self._done:
            folder = self.filled(table, {fault.id: fault.make for fault in TABLES[table]})
            self._done[table] = Graded(folder, grade_class(folder.root))
        return self._done[table]

    def filled(self, name: str, makes: dict[str, Make]) -> ClassFolder:
        """A class of these students and the bystanders."""
        shutil.copytree(self.made.root, self.root / name)
        folder = ClassFolder.open(self.root / name)
        for student, make in {**dict.fromkeys(BYSTANDERS, hand_in), **makes}.items():
            place = folder.submitted(student, LESSON)
            place.mkdir(parents=True)
            make(place, copy.deepcopy(self.sheet))
        return folder


@pytest.fixture(scope="module")
def classes(made: ClassFolder, sheet: Sheet, tmp_path_factory: pytest.TempPathFactory) -> Classes:
    return Classes(made, sheet, tmp_path_factory.mktemp("graded"))


# ---- the tables ------------------------------------------------------------------------------------------------------


def cases() -> Iterator[Any]:
    for name, table in TABLES.items():
        for fault in table:
            yield pytest.param(name, fault, id=f"{name}-{fault.id}")


@pytest.mark.parametrize(("table", "fault"), list(cases()))
def test_a_fault_ends_as_it_should(table: str, fault: Fault, classes: Classes) -> None:
    run = classes.of(table)
    entry, said = run.entries[fault.id], run.said(fault.id)
    assert (entry.points, entry.status) == (fault.points, fault.status), said
    assert fault.says in run.shown(fault.id)
    assert "the grader" not in said, "a failure of ours, not the student's"
    assert "Traceback" not in said
    if fault.status in (Status.LOOK, Status.UNREADABLE):
        assert len(entry.outcome.reason.split()) > 3, "a reason in words"


@pytest.mark.parametrize("table", TABLES)
def test_everyone_else_keeps_every_mark(table: str, classes: Classes) -> None:
    run = classes.of(table)
    assert set(run.entries) == {*BYSTANDERS, *(fault.id for fault in TABLES[table])}
    run.assert_bystanders_untouched()


@pytest.mark.parametrize("table", ["files", "cells"])
def test_pages_for_students_are_written_and_hold_no_hidden_test(table: str, classes: Classes) -> None:
    run = classes.of(table)
    for name, entry in run.entries.items():
        page = run.folder.feedback(name, LESSON)
        assert page.exists() == (entry.status != Status.MISSING), name
        if page.exists():
            assert "grader.hidden" not in page.read_text(), name
            assert "HIDDEN TESTS" not in page.read_text(), name


def test_a_run_after_our_own_notes_were_damaged_changes_nothing(classes: Classes) -> None:
    first = classes.of("files")
    folder = classes.root / "again"
    shutil.copytree(first.folder.root, folder, symlinks=True, ignore=_pipes)
    for file in (folder / ".grader" / "outcomes").rglob("*.json"):
        file.write_text(file.read_text()[:-20])
    again = Graded(ClassFolder.open(folder), grade_class(folder))
    again.assert_bystanders_untouched()
    assert {n: e.points for n, e in again.entries.items()} == {n: e.points for n, e in first.entries.items()}


def _pipes(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if Path(folder, name).is_fifo()]


def test_students_of_all_names_get_their_marks(classes: Classes) -> None:
    run = Graded(folder := classes.filled("names", dict.fromkeys(NAMES, hand_in)), grade_class(folder.root))
    run.assert_bystanders_untouched()
    assert {name: run.entries[name].points for name in NAMES} == dict.fromkeys(NAMES, OUT_OF)
    assert all(run.folder.feedback(name, LESSON).exists() for name in NAMES)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_said(classes: Classes) -> None:
    locked = {"file": lambda place, sheet: hand_in(place, sheet).chmod(0), "folder": lambda place, _: place.chmod(0)}
    run = Graded(folder := classes.filled("locked", locked), grade_class(folder.root))
    run.assert_bystanders_untouched()
    for name in locked:
        folder.submitted(name, LESSON).chmod(0o755)
        assert (run.entries[name].points, run.entries[name].status) == (None, Status.UNREADABLE)
        assert "Permission denied" in run.said(name)


def test_every_kind_that_was_seen_elsewhere_has_a_line() -> None:
    lines = [fault for table in TABLES.values() for fault in table]
    assert {fault.row for fault in lines} == {*SEEN, ""}
    assert sum(not fault.row for fault in lines) >= 10
    assert len({fault.id for fault in lines}) == len(lines)
