"""grader import-zip on a real class: what counts, what is kept, what is refused, and that nothing is ever lost."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbgrader.utils import parse_utc

from grader.classroom.folder import ClassFolder
from grader.classroom.handed_in import find
from grader.classroom.lms.take_in import TakenIn, take_in
from grader.classroom.master import Master
from grader.classroom.run import grade_class
from grader.cli import main
from grader.errors import GraderError

WriteZip = Callable[..., Path]
Notebook = Callable[..., str]
LESSON = "00_warm_up"


def everything(folder: ClassFolder) -> dict[str, str]:
    """Digests of all files of the class but its lock and its database."""
    return {
        str(path.relative_to(folder.root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.root.rglob("*")
        if path.is_file() and path.name not in ("lock", "gradebook.db", "nbgrader.log")
    }


def told(taken: TakenIn) -> dict[str, str]:
    return {outcome.submission.student: outcome.what for outcome in taken.outcomes}


def handed(folder: ClassFolder, student: str, lesson: str = LESSON) -> dict[str, str]:
    place = folder.submitted(student, lesson)
    return {str(p.relative_to(place)): p.read_text() for p in sorted(place.rglob("*")) if p.is_file()}


def kept(folder: ClassFolder, student: str) -> list[str]:
    place = folder.private / "kept" / student
    return sorted(p.read_text() for p in place.rglob("*.ipynb"))


def invoke(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def test_canvas(listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any) -> None:
    right, other = notebook(), notebook(triple="")
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 900, f"{LESSON}.ipynb"): other,
            lms.canvas("Lovelace, Ada", 4021, 901, f"{LESSON}-1.ipynb"): right,
            lms.canvas("Hopper, Grace", 4022, 902, "relu final (1).ipynb", late=True): right,
            lms.canvas("Ñuñez-García, José", 4023, 903, "answer.py"): "def double(x): ...",
            lms.canvas("Nobody, Else", 5000, 904, f"{LESSON}.ipynb"): right,
            "李明_4024_text.html": "<p>typed</p>",
        }
    )
    taken = take_in(listed.root, path)
    assert taken.layout == "canvas"
    assert told(taken) == {"ada": "new", "grace": "new", "0017": "new"}
    assert handed(listed, "ada") == {f"{LESSON}.ipynb": right}
    assert kept(listed, "ada") == [other]
    assert handed(listed, "grace") == {f"{LESSON}.ipynb": right}
    assert handed(listed, "0017") == {"answer.py": "def double(x): ..."}
    by_student = {outcome.submission.student: outcome.submission for outcome in taken.outcomes}
    assert by_student["grace"].late
    assert "relu final (1).ipynb is 00_warm_up's notebook by its cells" in by_student["grace"].notes
    assert "none of the files is a notebook of 00_warm_up" in by_student["0017"].notes
    assert {(s.called, s.why) for s in taken.skipped} == {
        ("nobodyelse (5000)", "nobody in the class's list has the name 'nobodyelse' or the id 5000"),
        ("", "a text typed into Canvas, no file"),
    }
    assert taken.absent == ["jl", "li"]


@pytest.mark.parametrize("folders", [True, False])
def test_moodle(folders: bool, listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any) -> None:
    right = notebook()
    path = write_zip(
        {
            lms.moodle("Ada Lovelace", 11, f"{LESSON}.ipynb", folders=folders, old=True): right,
            lms.moodle("Jean-Luc O'Neil, Jr.", 12, f"{LESSON} (2).ipynb", folders=folders): right,
            lms.moodle("Tutorial 3-Grace Hopper", 13, f"{LESSON}.ipynb", folders=folders): right,
        }
    )
    taken = take_in(listed.root, path)
    assert taken.layout == "moodle"
    assert told(taken) == {"ada": "new", "jl": "new", "grace": "new"}
    assert handed(listed, "jl") == {f"{LESSON}.ipynb": right}
    assert not taken.skipped
    assert "does not say when" in taken.notes[0]


def test_moodles_worksheet_tells_who_and_when(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any, tmp_path: Path
) -> None:
    sheet = tmp_path / "worksheet.csv"
    sheet.write_text(
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,"
        "Last modified (submission),Last modified (grade)\n"
        'Participant 11,A. L.,ada@example.org,Submitted,,5.00,Yes,"Sunday, 25 October 2026, 1:30 PM",-\n'
        "Participant 12,Grace Hopper,grace@example.org,No submission,,5.00,Yes,-,-\n"
    )
    path = write_zip({lms.moodle("A. L.", 11, f"{LESSON}.ipynb"): notebook()})
    assert not take_in(listed.root, path, dry_run=True).outcomes
    taken = take_in(listed.root, path, worksheet=sheet, timezone="Europe/Berlin")
    assert [o.submission.how for o in taken.outcomes] == ["email"]
    stamp = (listed.submitted("ada", LESSON) / "timestamp.txt").read_text()
    assert stamp == "2026-10-25 12:30:00 UTC\n"  # the clocks went back that morning
    assert parse_utc(stamp.strip()).isoformat() == "2026-10-25T12:30:00"
    again = take_in(listed.root, path)
    assert again.skipped
    assert (listed.submitted("ada", LESSON) / "timestamp.txt").read_text() == stamp


def test_gradescope_with_a_group_and_times(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    right = notebook()
    ada = {"name": "Ada Lovelace", "sid": "", "email": "ada@example.org"}
    jose = {"name": "J. G.", "sid": "0017", "email": "other@example.org"}
    stranger = {"name": "Nobody Else", "sid": "99", "email": "n@example.org"}
    files = {"a/relu.ipynb": right, "a/data.csv": "1"}
    path = write_zip(
        lms.gradescope(
            {
                "submission_91": ([ada, jose, stranger], "2026-10-01 21:14:05.102030000 Z", files),
                "submission_92": ([ada], "2026-10-02 09:00:00.000000000 -07:00", {"x.ipynb": notebook(double="")}),
            }
        )
        | {"__MACOSX/._x": "", "assignment_8046601_export/.DS_Store": ""}
    )  # fmt: skip
    taken = take_in(listed.root, path)
    assert taken.layout == "gradescope"
    assert told(taken) == {"ada": "new", "0017": "new"}
    assert handed(listed, "0017") == {
        f"{LESSON}.ipynb": right,
        "data.csv": "1",
        "timestamp.txt": "2026-10-01 21:14:05.102030 UTC\n",
    }
    assert handed(listed, "ada")["timestamp.txt"] == "2026-10-02 16:00:00 UTC\n"
    assert kept(listed, "ada") == [right]
    assert {s.called for s in taken.skipped} == {"Nobody Else"}


def test_the_latest_before_a_deadline_counts(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    ada = {"name": "Ada Lovelace", "email": "ada@example.org"}
    grace = {"name": "Grace Hopper", "email": "grace@example.org"}
    first, second, third = notebook(double=""), notebook(triple=""), notebook()
    export = lms.gradescope(
        {
            "submission_3": ([ada], "2026-10-03 00:00:00 Z", {"x.ipynb": third}),
            "submission_1": ([ada], "2026-10-01 00:00:00 Z", {"x.ipynb": first}),
            "submission_2": ([ada], "2026-10-02 00:00:00 Z", {"x.ipynb": second}),
            "submission_4": ([grace], "2026-10-03 00:00:00 Z", {"x.ipynb": third}),
        }
    )
    taken = take_in(listed.root, write_zip(export), before="2026-10-02 02:00", timezone="Europe/Berlin")
    assert handed(listed, "ada")[f"{LESSON}.ipynb"] == second
    assert kept(listed, "ada") == sorted([first, third])
    assert [(s.called, s.why) for s in taken.skipped] == [("Grace Hopper", "handed in after 2026-10-02 02:00 CEST")]
    take_in(listed.root, write_zip(export))
    assert handed(listed, "ada")[f"{LESSON}.ipynb"] == third
    assert set(kept(listed, "ada")) == {first, second, third}


def test_a_scrap_or_a_later_attempt_without_a_notebook_does_not_count(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    ada = {"name": "Ada Lovelace", "email": "ada@example.org"}
    scrap = nbformat.reads(notebook(), as_version=4)
    scrap.cells = [cell for cell in scrap.cells if cell.id == "double"]
    export = lms.gradescope(
        {
            "submission_1": ([ada], "2026-10-01 00:00:00 Z", {"z.ipynb": json.dumps(scrap), "a.ipynb": notebook()}),
            "submission_2": ([ada], "2026-10-02 00:00:00 Z", {"relu.pdf": "%PDF-"}),
        }
    )
    (outcome,) = take_in(listed.root, write_zip(export)).outcomes
    assert handed(listed, "ada")[f"{LESSON}.ipynb"] == notebook()
    assert sorted(outcome.submission.kept) == ["2026-10-02-000000/relu.pdf", "z.ipynb"]


def test_twice_changes_nothing_and_an_older_zip_does_not_come_back(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    old, new = notebook(double=""), notebook()
    first = write_zip({lms.canvas("Lovelace, Ada", 4021, 900, "a.ipynb"): old}, "first.zip")
    second = write_zip({lms.canvas("Lovelace, Ada", 4021, 950, "a.ipynb"): new}, "second.zip")
    assert told(take_in(listed.root, first)) == {"ada": "new"}
    before = everything(listed)
    assert told(take_in(listed.root, first)) == {"ada": "same as before"}
    assert everything(listed) == before
    taken = take_in(listed.root, second)
    assert told(taken) == {"ada": "replaces the one before"}
    assert (listed.root / taken.outcomes[0].kept / f"{LESSON}.ipynb").read_text() == old
    before = everything(listed)
    assert told(take_in(listed.root, first)) == {"ada": "older than the one there"}
    assert everything(listed) == before
    assert handed(listed, "ada") == {f"{LESSON}.ipynb": new}


def test_what_was_put_there_by_hand_is_kept(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any, student: Callable[[str], Any]
) -> None:
    by_hand = student("ada").hand_in(double="def double(x): return 0").read_text()
    (listed.submitted("ada", LESSON) / "timestamp.txt").write_text("2026-10-05 12:00:00 UTC")
    ada = {"name": "Ada Lovelace", "email": "ada@example.org"}
    older = lms.gradescope({"submission_1": ([ada], "2026-10-05 13:59:00 +02:00", {"x.ipynb": notebook()})})
    taken = take_in(listed.root, write_zip(older))
    assert told(taken) == {"ada": "older than the one there"}
    assert handed(listed, "ada")[f"{LESSON}.ipynb"] == by_hand
    assert (listed.root / taken.outcomes[0].kept / f"{LESSON}.ipynb").read_text() == notebook()
    newer = lms.gradescope({"submission_2": ([ada], "2026-10-05 14:01:00 +02:00", {"x.ipynb": notebook()})})
    assert told(take_in(listed.root, write_zip(newer))) == {"ada": "replaces the one before"}
    assert by_hand in kept(listed, "ada")


def test_a_zip_in_the_zip_is_opened_once_and_a_bad_one_costs_nobody_else(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    right = notebook()
    inner = lms.zipped(
        {"work/my relu.ipynb": right, "work/helpers/h.py": "1", "__MACOSX/._x": "", "deep.zip": lms.zipped({"a": "b"})}
    )
    bad = lms.zipped({"../../evil.ipynb": right})
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 1, "work.zip"): inner,
            lms.canvas("Hopper, Grace", 4022, 2, "work.zip"): bad,
            lms.canvas("Ñuñez-García, José", 4023, 3, "work.zip"): b"Rar!",
        }
    )
    taken = take_in(listed.root, path)
    place = listed.submitted("ada", LESSON)
    assert (place / f"{LESSON}.ipynb").read_text() == right
    assert (place / "helpers" / "h.py").read_text() == "1"
    assert (place / "deep.zip").is_file()
    notes = {outcome.submission.student: " ".join(outcome.submission.notes) for outcome in taken.outcomes}
    assert "zip within a zip" in notes["ada"]
    assert "leads out of its folder" in notes["grace"]
    assert (listed.submitted("grace", LESSON) / "work.zip").read_bytes() == bad
    assert "no whole zip" in notes["0017"]
    assert not list(listed.root.rglob("evil*"))


def test_names_that_clash_or_that_a_system_forbids_cost_nothing(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    files = {
        "real.ipynb": notebook(), f"{LESSON}.ipynb/x.txt": "1", "timestamp.txt/y": "2", "a": "3", "a/b": "4",
        "cc:d": "5", "cc_d": "6", "Data.csv": "7", "data.csv": "8", "n" * 300 + ".csv": "9", "\u202e\x07": "10",
    }  # fmt: skip
    path = write_zip({lms.canvas("Lovelace, Ada", 4021, 1, "all.zip"): lms.zipped(files)})
    taken = take_in(listed.root, path)
    found = handed(listed, "ada")
    assert found.pop(f"{LESSON}.ipynb") == notebook()
    assert sorted(found.values(), key=int) == [str(n) for n in range(1, 11)]
    assert len({name.casefold() for name in found}) == 10
    assert told(taken) == {"ada": "new"}
    assert told(take_in(listed.root, path)) == {"ada": "same as before"}


def test_broken_and_foreign_notebooks_and_a_time_of_the_students_own(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any, master: Master
) -> None:
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 1, f"{LESSON}.ipynb"): notebook(),
            lms.canvas("Hopper, Grace", 4022, 2, f"{LESSON}.ipynb"): notebook()[:-50],
            lms.canvas("Ñuñez-García, José", 4023, 3, f"{LESSON}.ipynb"): notebook("01_powers"),
            lms.canvas("李, 明", 4024, 4, "work.ipynb"): notebook(),
            lms.canvas("李, 明", 4024, 5, "timestamp.txt"): "2020-01-01 00:00:00 UTC",
        }
    )
    taken = take_in(listed.root, path, lesson=LESSON)
    assert told(taken) == {"ada": "new", "grace": "new", "li": "new"}
    assert find(listed.submitted("grace", LESSON), master, limit=20).problem is not None
    assert [(s.called, s.why) for s in taken.skipped] == [
        ("ñuñezgarcíajosé (4023)", f"it is 01_powers's notebook, and --lesson {LESSON} was asked for")
    ]
    assert handed(listed, "li") == {f"{LESSON}.ipynb": notebook()}
    both = take_in(listed.root, path)
    assert ("0017", "01_powers") in {(o.submission.student, o.submission.lesson) for o in both.outcomes}
    assert ["which lesson it is for is not sure" in s.why for s in both.skipped] == [True]


def test_a_notebook_without_its_metadata_is_known_by_its_text(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    stripped = nbformat.reads(notebook("01_powers"), as_version=4)
    for cell in stripped.cells:
        cell.metadata.pop("nbgrader", None)
    path = write_zip({lms.canvas("Lovelace, Ada", 4021, 1, "Untitled.ipynb"): json.dumps(stripped)})
    (outcome,) = take_in(listed.root, path).outcomes
    assert outcome.submission.lesson == "01_powers"


def test_a_group_by_its_name_goes_to_all_its_members(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    path = write_zip({lms.moodle("Team Rocket", 5, "x.ipynb"): notebook()})
    assert told(take_in(listed.root, path)) == {"jl": "new", "li": "new"}


def test_two_people_who_would_be_one_student_are_neither(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    path = write_zip(
        {lms.moodle("Ada Lovelace", n, "x.ipynb"): notebook() for n in (1, 2)}
        | {lms.moodle("Grace Hopper", 3, "x.ipynb"): notebook()}
    )
    taken = take_in(listed.root, path)
    assert told(taken) == {"grace": "new"}
    assert all("would both be ada" in skipped.why for skipped in taken.skipped)
    assert len(taken.skipped) == 2


def test_a_dry_run_shows_all_and_writes_nothing(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 1, "x\x1b[2J.ipynb", late=True): notebook(),
            lms.canvas("Nobody", 5000, 2, "x.ipynb"): notebook(),
        }
    )
    before = everything(listed)
    result = invoke("import-zip", listed.root, path, "--dry-run")
    assert result.exit_code == 1
    assert everything(listed) == before
    for word in (
        "Would be taken",
        "ada",
        LESSON,
        "LMS id",
        "late",
        "Not taken",
        "nobody (5000)",
        "Nothing was written",
    ):
        assert word in result.output
    assert "\x1b[2J" not in result.output
    report = json.loads(invoke("import-zip", listed.root, path, "--dry-run", "--json").stdout)
    assert report["submissions"][0]["recognised_by"] == "LMS id"
    assert report["not_taken"][0]["called"] == "nobody (5000)"
    assert report["nothing_from"] == ["0017", "grace", "jl", "li"]


def test_a_full_disk_leaves_everybodys_work(
    listed: ClassFolder,
    write_zip: WriteZip,
    notebook: Notebook,
    lms: Any,
    student: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    student("ada").hand_in(double="")
    before = everything(listed)
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 1, "x.ipynb"): notebook(),
            lms.canvas("Hopper, Grace", 4022, 2, "x.ipynb"): notebook(),
        }
    )
    write, written = Path.write_bytes, list[Path]()

    def full(self: Path, data: bytes) -> int:
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(self)
        return write(self, data)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", full)
        with pytest.raises(GraderError, match="No space left on device"):
            take_in(listed.root, path)
    assert everything(listed) == before
    assert told(take_in(listed.root, path)) == {"ada": "replaces the one before", "grace": "new"}


@pytest.mark.parametrize(("files", "words", "said"), [
    ({"a/b.ipynb": "x"}, [], "not sure which LMS"),
    ({}, [], "holds no file"),
    ({"__MACOSX/a": ""}, [], "holds no file"),
    ({"a/b.ipynb": "x"}, ["--from", "gradescope"], "nothing in .* is named as gradescope names"),
    ({"a_1_2_x.ipynb": "x"}, ["--lesson", "99_none"], "the class has no lesson '99_none'"),
    ({"lovelaceada_4021_2_x.ipynb": "x"}, [], "no file in this zip is a notebook of this class's lessons"),
    ({"a_1_2_x.ipynb": "x"}, ["--before", "yesterdayish"], "is no time"),
    ({"a_1_2_x.ipynb": "x"}, ["--timezone", "Mars/Olympus"], "no time zone is called"),
    ({"submission_metadata.yml": "a: [", "submission_1/x": ""}, [], "line .*: it is no whole YAML file"),
    ({"submission_metadata.yml": "- a", "submission_1/x": ""}, [], "does not list submissions"),
    ({"submission_metadata.yml": "a: !!python/object/apply:os.system [ls]", "b/x": ""}, [], "does not list sub"),
])  # fmt: skip
def test_what_is_not_sure_is_refused(
    files: dict[str, str], words: list[str], said: str, listed: ClassFolder, write_zip: WriteZip
) -> None:
    before = everything(listed)
    result = invoke("import-zip", listed.root, write_zip(files), *words)
    assert result.exit_code == 2, result.output
    assert "Traceback" not in result.output
    assert re.search(said, result.stderr)
    assert everything(listed) == before


def test_a_canvas_zip_that_was_zipped_again(listed: ClassFolder, tmp_path: Path, notebook: Notebook, lms: Any) -> None:
    with zipfile.ZipFile(tmp_path / "again.zip", "w") as archive:
        archive.writestr("submissions/", "")
        archive.writestr("submissions/" + lms.canvas("Lovelace, Ada", 4021, 1, "x.ipynb"), notebook())
        archive.writestr("__MACOSX/submissions/._x", b"\0")
    assert told(take_in(listed.root, tmp_path / "again.zip")) == {"ada": "new"}


def test_imported_work_is_graded_like_any_other(
    listed: ClassFolder, write_zip: WriteZip, notebook: Notebook, lms: Any
) -> None:
    path = write_zip(
        {
            lms.canvas("Lovelace, Ada", 4021, 1, "relu final.ipynb"): notebook(),
            lms.canvas("Hopper, Grace", 4022, 2, f"{LESSON}-3.ipynb"): notebook(triple=""),
            lms.canvas("Ñuñez-García, José", 4023, 3, "answer.pdf"): b"%PDF-",
        }
    )
    assert invoke("import-zip", listed.root, path).exit_code == 0
    summary = grade_class(listed.root)
    points = {row.student: [entry.points for entry in row.entries] for row in summary.rows}
    assert points["ada"] == [5, None]
    assert points["grace"] == [2, None]
    assert points["0017"][0] in (None, 0)
