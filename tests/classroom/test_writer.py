"""The bulk writer leaves what nbgrader's own converters leave, whatever happens to it on the way."""

from __future__ import annotations

import contextlib
import copy
import importlib.util
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader import preprocessors as stock
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import NbGraderPreprocessor
from sqlalchemy.exc import OperationalError
from traitlets.config import Config

from grader.classroom import ledger, trees
from grader.classroom.bulk import Autograding
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Entry, Writer, read_rows
from grader.classroom.master import Master, load_master
from grader.classroom.repair import repair
from grader.classroom.rows import Batch
from grader.classroom.settings import load_config
from grader.errors import GraderError

Students = Callable[[str], Any]
LESSON = "00_warm_up"


def _oracle() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nbgraders_own", Path(__file__).with_name("nbgraders_own.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


nbgraders_own = _oracle()
dump, files = nbgraders_own.dump, nbgraders_own.files


class PointAnHour(LateSubmissionPlugin):  # type: ignore[misc]
    """A point off for each hour: more than the score for the very late."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        return total_seconds_late / 3600


class Shout(NbGraderPreprocessor):  # type: ignore[misc]
    """An instructor's own step before scoring: changes outputs."""

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        for out in cell.get("outputs", ()):
            if out.output_type == "stream":
                out.text = out.text.upper()
        return cell, resources


class Praise(NbGraderPreprocessor):  # type: ignore[misc]
    """An instructor's own step after scoring: reads the scores, and writes into the gradebook itself."""

    def preprocess(self, nb: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        about = resources["nbgrader"]
        with Gradebook(about["db_url"]) as gradebook:
            where = (about["notebook"], about["assignment"], about["student"])
            score = gradebook.find_submission_notebook(*where).score
            solution = "double" if about["notebook"] == LESSON else "square"
            gradebook.find_comment(solution, *where).manual_comment = f"You have {score} points"
            gradebook.db.commit()
        return nb, resources


def ran(folder: ClassFolder, student: str, lesson: str = LESSON, **results: Any) -> Entry:
    """What a run of the student's notebook gave: for each test a number, an error's text or a list of outputs."""
    master = load_master(folder, lesson)
    mended, _ = repair(nbformat.read(folder.submitted(student, lesson) / f"{lesson}.ipynb", as_version=4), master)
    return Entry(student, lesson, outputs(mended, master, results), [])


def outputs(mended: NotebookNode, master: Master, results: dict[str, Any]) -> NotebookNode:
    for number, cell in enumerate(c for c in mended.cells if c.cell_type == "code"):
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "").removeprefix("test_")
        if name in results and cell.metadata.nbgrader.grade:
            result = results[name]
            cell.outputs = result if isinstance(result, list) else [_result(result)]
        cell.execution_count = number
    mended.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    return mended


def _result(result: Any) -> NotebookNode:
    made: NotebookNode = new_output("execute_result", data={"text/plain": repr(result)}, execution_count=1)
    if isinstance(result, str):
        made = new_output("error", ename="ValueError", evalue=result, traceback=[result] * 150)
    return made


BESIDE = {"data.csv": "1,2", "own.py": "mine", "deep/er/x.txt": "x", "junk.pyc": "", "b.ipynb": "{}"}


@pytest.fixture
def handed_in(klass: ClassFolder, student: Students) -> ClassFolder:
    """Submissions of all kinds, a date they are due, and files that the instructor gave with the lesson."""
    for name in ("ada", "bo", "cy, jr", "müller {x}", "a+b", "o'neil"):
        student(name).hand_in()
    student("bo").hand_in(double="", triple="")
    student("a+b").hand_in(edit=lambda nb: nb.cells.insert(1, new_markdown_cell("<div>*open* <img src='files/x.png'>")))
    student("ada").hand_in("01_powers")
    at(klass, "ada", "2026-01-31 12:30:00 UTC")
    at(klass, "bo", "2026-02-01 02:00:00 +0100")
    at(klass, "o'neil", "2026-01-31 11:00:00")
    for name, text in BESIDE.items():
        path = klass.submitted("ada", LESSON) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (klass.submitted("ada", LESSON) / "own.py").chmod(0o444)
    (klass.source(LESSON).parent / "data.csv").write_text("the instructor's")
    (klass.source(LESSON).parent / "own.py").write_text("theirs")
    with Gradebook(klass.gradebook_url) as gradebook:
        gradebook.update_or_create_assignment(LESSON, duedate="2026-01-31 12:00:00 UTC")
    return klass


def at(folder: ClassFolder, student: str, when: str) -> None:
    (folder.submitted(student, LESSON) / "timestamp.txt").write_text(when + "\n")


def by_hand(folder: ClassFolder) -> None:
    with Gradebook(folder.gradebook_url) as gradebook:
        grade = gradebook.find_grade("test_double", LESSON, LESSON, "ada")
        grade.manual_score, grade.extra_credit, grade.needs_manual_grade = 1.5, 0.25, False
        gradebook.find_grade("test_triple", LESSON, LESSON, "bo").extra_credit = 1.0
        gradebook.find_comment("double", LESSON, LESSON, "ada").manual_comment = "see **me**"
        gradebook.db.commit()


LONG = "\n".join(str(number) for number in range(3000))
FIRST: list[tuple[str, str, dict[str, Any]]] = [
    ("ada", LESSON, {"double": 2, "triple": 3.0}),
    ("ada", "01_powers", {"square": 1.0}),
    ("bo", LESSON, {"double": "not written", "triple": 1.0}),
    ("cy, jr", LESSON, {"double": [new_output("stream", name="stderr", text="oh")], "triple": []}),
    ("müller {x}", LESSON, {"double": [new_output("stream", text=LONG), _result(2)], "triple": 0}),
    ("a+b", LESSON, {"double": 2.0, "triple": 3}),
    ("o'neil", LESSON, {"double": 1, "triple": "no"}),
]
AGAIN = [
    ("ada", LESSON, {"double": 0, "triple": 3.0}),  # scored by hand, and the automatic score changes
    ("bo", LESSON, {"double": 2.0, "triple": 3.0}),
    ("o'neil", LESSON, {"double": 2, "triple": 1.5}),
]


def plain(config: Config) -> None:
    config.AssignLatePenalties.plugin_class = PointAnHour


def own_steps(config: Config) -> None:
    plain(config)
    steps = config.Autograde.autograde_preprocessors
    steps.insert(1, Shout)
    steps.append(Praise)
    config.Autograde.exclude_overwriting = {LESSON: ["own.py"]}
    config.OverwriteCells.add_missing_cells = True
    config.IgnorePattern.enabled, config.IgnorePattern.pattern = True, "oh"
    config.LimitOutput.max_traceback = 10
    config.BaseConverter.permissions = 640


@pytest.mark.parametrize("settings", [plain, own_steps])
def test_what_nbgrader_leaves(handed_in: ClassFolder, tmp_path: Path, settings: Callable[[Config], None]) -> None:
    ours = handed_in
    theirs = ClassFolder(Path(shutil.copytree(ours.root, tmp_path / "theirs")))
    configs = {folder: load_config(folder) for folder in (ours, theirs)}
    for config in configs.values():
        settings(config)
    for round_ in (FIRST, AGAIN):
        entries = [ran(ours, student, lesson, **results) for student, lesson, results in round_]
        for entry in entries:
            nbgraders_own.grade(theirs, configs[theirs], copy.deepcopy(entry))
        save(ours, entries, configs[ours])
        expected = dump(theirs.gradebook)
        assert {table: rows for table, rows in dump(ours.gradebook).items() if rows != expected[table]} == {}
        assert files(ours) == files(theirs)
        for folder in (ours, theirs):
            by_hand(folder)
            at(folder, "bo", "2026-01-30 12:00:00 UTC")


def save(folder: ClassFolder, entries: list[Entry], config: Config | None = None) -> None:
    with Writer(folder, config or load_config(folder)) as writer:
        problems = writer.save(entries)
        assert problems == [None] * len(entries), problems
        for entry in entries:
            writer.feedback(entry.student, entry.lesson)


def state(folder: ClassFolder) -> Any:
    return dump(folder.gradebook), files(folder)


def test_saving_twice_changes_nothing(handed_in: ClassFolder) -> None:
    entries = [ran(handed_in, student, lesson, **results) for student, lesson, results in FIRST]
    save(handed_in, entries)
    by_hand(handed_in)
    save(handed_in, entries)
    before = state(handed_in)
    save(handed_in, entries[:1])
    save(handed_in, entries + entries[:2])
    assert state(handed_in) == before
    grade = [row for row in before[0]["grade"] if "1.5" in row]
    assert "'needs_manual_grade': 0" in grade[0]  # its automatic score is as it was


def test_a_doubtful_cell_asks_for_a_look(handed_in: ClassFolder) -> None:
    entry = ran(handed_in, "ada", double=2, triple=3)
    save(handed_in, [Entry("ada", LESSON, entry.executed, ["test_triple"])])
    with Gradebook(handed_in.gradebook_url) as gradebook:
        asked = {g.name: g.needs_manual_grade for g in gradebook.find_submission_notebook(LESSON, LESSON, "ada").grades}
    assert asked == {"test_double": False, "test_triple": True}


def test_an_entry_that_fails_costs_no_other(handed_in: ClassFolder) -> None:
    right = [ran(handed_in, student, lesson, **results) for student, lesson, results in FIRST]
    save(handed_in, right[:1])
    before = state(handed_in)
    bad, alone = copy.deepcopy(right[0]), ran(handed_in, "bo", double=3, triple=3)
    bad.executed.cells[-1].source += "# another test"
    with Writer(handed_in, load_config(handed_in)) as writer:
        problems = writer.save([bad, alone, right[4], Entry("di", "99_none", right[0].executed, [])])
    assert [problem is None for problem in problems] == [False, False, True, False]
    assert "changed while it was being graded" in str(problems[0])
    assert "greater than maximum points" in str(problems[1])
    assert "99_none" in str(problems[3])
    after, found = state(handed_in)
    assert [row for row in after["student"] if "'ada'" not in row and "müller" not in row] == []
    assert {name: found[name] for name in before[1]} == before[1]
    assert not handed_in.autograded("bo", LESSON).exists()


def test_a_failing_database_enters_nothing(handed_in: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [ran(handed_in, name, double=2, triple=3) for name in ("ada", "bo")]
    enter, before = Autograding.enter, state(handed_in)

    def full(self: Autograding, entry: Entry, batch: Batch) -> None:
        enter(self, entry, batch)
        if entry.student == "bo":
            raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    with Writer(handed_in, load_config(handed_in)) as writer, monkeypatch.context() as patch:
        patch.setattr(Autograding, "enter", full)
        with pytest.raises(OperationalError, match="disk is full"):
            writer.save(entries)
        assert writer.save([]) == []
    assert state(handed_in) == before
    save(handed_in, entries)


@pytest.mark.parametrize("text", ["yesterday, I think", "", "99999-99-99", "2026-01-31 12:00:00 NOWHERE", "\0\0"])
def test_a_time_that_is_none_costs_nothing(handed_in: ClassFolder, text: str) -> None:
    at(handed_in, "ada", text)
    with Writer(handed_in, load_config(handed_in)) as writer:
        assert writer.save([ran(handed_in, "ada", double=2, triple=3)]) == [None]
    row = read_rows(handed_in, load_config(handed_in))[1]["ada", LESSON]
    assert (row.points, row.out_of) == (5, 5)


def test_links_pipes_and_large_files_stay_behind(handed_in: ClassFolder, tmp_path: Path) -> None:
    place, outside = handed_in.submitted("[a-z]*", LESSON), tmp_path / "outside"
    shutil.copytree(handed_in.submitted("o'neil", LESSON), place)
    outside.mkdir()
    (outside / "far.txt").write_text("far away")
    (place / "link.txt").symlink_to(outside / "far.txt")
    (place / "folder").symlink_to(outside)
    os.mkfifo(place / "pipe")
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(place):  # the path may be too long for one
        server.bind("socket")
    (place / "__pycache__").mkdir()
    (place / "__pycache__" / "x.py").write_text("")
    (place / "large.bin").write_bytes(b"0" * 2001)
    (place / "fits.bin").write_bytes(b"0" * 2000)
    (place / "data.csv").mkdir()  # in the instructor's way
    (place / "data.csv" / "x").write_text("")
    config = load_config(handed_in)
    config.CourseDirectory.max_file_size = 2
    save(handed_in, [ran(handed_in, "[a-z]*", double=2, triple=3)], config)
    graded = {path.name for path in handed_in.autograded("[a-z]*", LESSON).parent.iterdir()}
    assert graded == {f"{LESSON}.ipynb", "timestamp.txt", "fits.bin", "data.csv", "own.py"}
    assert not any(b"far away" in content for content, _ in files(handed_in).values())


def test_students_and_settings_that_leave_students_out(handed_in: ClassFolder) -> None:
    config = load_config(handed_in)
    with Writer(handed_in, config) as writer:
        writer.enrol(["zoe", "ada", "zoe"])
        writer.enrol(["ada"])
    config.Autograde.create_student = False
    config.CourseDirectory.student_id_exclude = "ada,x"
    with Writer(handed_in, config) as writer:
        entries = [ran(handed_in, name, double=2, triple=3) for name in ("ada", "bo")]
        left_out, unknown = writer.save(entries)
        writer.feedback("ada", LESSON)
        with pytest.raises((MissingEntry, OSError)):
            writer.feedback("bo", LESSON)
    assert left_out is None
    assert "No student with ID 'bo'" in str(unknown)
    assert files(handed_in) == {}
    with Gradebook(handed_in.gradebook_url) as gradebook:
        assert sorted(student.id for student in gradebook.students) == ["ada", "zoe"]


def test_hooks_are_called_around_each_submission(handed_in: ClassFolder) -> None:
    calls: list[Any] = []

    def hook(when: str) -> Callable[..., None]:
        def called(*, assignment: str, student: str, notebooks: list[str]) -> None:
            with Gradebook(handed_in.gradebook_url) as gradebook:  # other programs may write meanwhile
                gradebook.update_or_create_student("zoe")
                known = student in [row.id for row in gradebook.students]
            there = handed_in.autograded(student, assignment).exists()
            calls.append((when, student, Path(notebooks[0]).name, Path.cwd() == handed_in.root, known, there))

        return called

    config = load_config(handed_in)
    config.Autograde.pre_convert_hook, config.Autograde.post_convert_hook = hook("pre"), hook("post")
    save(handed_in, [ran(handed_in, "ada", double=2, triple=3)], config)
    file = f"{LESSON}.ipynb"
    assert calls == [("pre", "ada", file, True, False, False), ("post", "ada", file, True, True, True)]


def test_a_gradebook_in_another_place(handed_in: ClassFolder, tmp_path: Path) -> None:
    shutil.copy(handed_in.gradebook, tmp_path / "elsewhere.db")
    before = dump(handed_in.gradebook)
    config = load_config(handed_in)
    config.CourseDirectory.db_url = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    save(handed_in, [ran(handed_in, "ada", double=2, triple=3)], config)
    assert dump(handed_in.gradebook) == before
    assert len(dump(tmp_path / "elsewhere.db")["grade"]) == 2


def test_a_step_list_without_scoring(handed_in: ClassFolder) -> None:
    config = load_config(handed_in)
    config.Autograde.autograde_preprocessors = ["nbgrader.preprocessors.LimitOutput", stock.AssignLatePenalties]
    save(handed_in, [ran(handed_in, "ada", double=2, triple=3)], config)
    assert all("'auto_score': None" in row for row in dump(handed_in.gradebook)["grade"])


def test_a_locked_gradebook_is_waited_for(handed_in: ClassFolder) -> None:
    entry = ran(handed_in, "ada", double=2, triple=3)
    other = sqlite3.connect(handed_in.gradebook, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    waiting = threading.Timer(1.0, other.rollback)
    waiting.start()
    save(handed_in, [entry])
    waiting.join()
    other.close()
    assert len(dump(handed_in.gradebook)["grade"]) == 2


HOLD = """
import sqlite3, sys, time
other = sqlite3.connect(sys.argv[1])
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(120)
"""


def test_who_keeps_the_gradebook_is_said(handed_in: ClassFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ran(handed_in, "ada", double=2, triple=3)
    monkeypatch.setattr(ledger, "PATIENCE", 0.1)
    command = [sys.executable, "-c", HOLD, str(handed_in.gradebook)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with Writer(handed_in, load_config(handed_in)) as writer, pytest.raises(GraderError) as told:
            writer.save([entry])
        holder.kill()
    assert "locked by another program" in str(told.value)
    if sys.platform == "linux":
        assert f"(process {holder.pid})" in str(told.value)
    assert dump(handed_in.gradebook)["grade"] == []
    save(handed_in, [entry])


# Saves two versions of the same submissions in turn until it is killed.
CHILD = """
import json, sys
import nbformat
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Entry, Writer, read_rows
from grader.classroom.settings import load_config
folder = ClassFolder.open(sys.argv[1])
versions = [[Entry(s, l, nbformat.from_dict(nb), []) for s, l, nb in told] for told in json.load(open(sys.argv[2]))]
with Writer(folder, load_config(folder)) as writer:
    print("ready", flush=True)
    while True:
        for entries in versions:
            assert writer.save(entries) == [None] * len(entries)
            writer.feedback(entries[0].student, entries[0].lesson)
"""


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [True, False])
def test_killed_at_any_moment(
    handed_in: ClassFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    versions = [
        [ran(handed_in, name, double=points, triple=points) for name in ("ada", "bo", "o'neil")] for points in (0, 2)
    ]
    known = []
    for entries in versions:
        save(handed_in, entries)
        known.append(state(handed_in))
    told = [[[entry.student, entry.lesson, entry.executed] for entry in entries] for entries in versions]
    (tmp_path / "versions.json").write_text(json.dumps(told))
    child = CHILD if exchange else "from grader.classroom import trees\ntrees._exchange = lambda *_: False\n" + CHILD
    chance = random.Random(7)
    for _ in range(6):
        command = [sys.executable, "-c", child, str(handed_in.root), str(tmp_path / "versions.json")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as saving:
            assert saving.stdout is not None
            assert saving.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0.0, 0.6))
            saving.send_signal(signal.SIGKILL)
        if not exchange:
            Writer(handed_in, load_config(handed_in)).close()  # puts back what two steps left between them
        left = files(handed_in)
        for place in [handed_in.autograded(name, LESSON).parent for name in ("ada", "bo", "o'neil")]:
            here = str(place.relative_to(handed_in.root)) + "/"
            found, *allowed = [_below(here, those) for those in (left, known[0][1], known[1][1])]
            assert found in allowed
        assert dump(handed_in.gradebook) in [known[0][0], known[1][0]]
    save(handed_in, versions[0])
    assert state(handed_in) == known[0]


def _below(folder: str, found: dict[str, Any]) -> dict[str, Any]:
    return {name: file for name, file in found.items() if name.startswith(folder)}


def test_a_folder_takes_its_place_where_names_cannot_be_exchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trees, "_exchange", lambda *_: False)
    shelf = trees.Shelf(tmp_path)
    for text in ("old", "new"):
        (shelf.start("ada", LESSON) / "x").write_text(text)
        shelf.finish("ada", LESSON)
    assert (tmp_path / "ada" / LESSON / "x").read_text() == "new"
    (tmp_path / ".old" / "ada").mkdir(parents=True, exist_ok=True)
    os.rename(tmp_path / "ada" / LESSON, tmp_path / ".old" / "ada" / LESSON)  # killed between the two steps
    shelf.restore()
    assert (tmp_path / "ada" / LESSON / "x").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ada"]
