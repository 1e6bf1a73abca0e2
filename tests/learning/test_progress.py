"""The record in the learner's folder, and the table worked out from it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.learning.hints import hint
from grader.learning.progress import progress, record_check
from grader.learning.standing import standing

RECORD = ".grader/progress.jsonl"


def check(
    exercise: str, *, points: float = 0.0, passed: bool = False, diagnosis: tuple[str, ...] = ()
) -> None:
    record_check(
        SimpleNamespace(exercise=exercise, passed=passed, points=points, out_of=4, diagnosis=list(diagnosis))
    )


def line(id: str) -> str:
    """The line of the text table about this exercise."""
    (found,) = (row for row in str(progress()).splitlines() if row.split()[1:2] == [id] and row.startswith("  "))
    return found


def test_nothing_done_yet(folder: Path) -> None:
    table = str(progress())
    assert table.startswith("0 of 3 exercises passed, 0 of 9 points")
    assert "02_relu: 0 of 2 passed" in table
    assert "not started" in line("relu")
    assert not (folder / ".grader").exists(), "looking must not write"


def test_passed_and_tried(folder: Path) -> None:
    check("relu", points=1.5, diagnosis=("half_mask", "zeros"))
    assert "tried once, last mistake: half_mask" in line("relu")
    assert "You mask only half of it" in progress()._repr_html_()
    assert "1.5 / 4" in line("relu")
    check("relu", points=4, passed=True)
    assert "passed" in line("relu")
    assert "4 / 4" in line("relu")
    assert str(progress()).startswith("1 of 3 exercises passed, 4 of 9 points")


def test_best_check_counts(folder: Path) -> None:
    check("relu", points=4, passed=True)
    check("relu", points=0.8, passed=False)
    assert (standing("relu").passed, standing("relu").points) == (True, 4.0)


def test_an_exercise_not_written_yet_is_no_try(folder: Path) -> None:
    record_check(
        SimpleNamespace(exercise="relu", passed=False, points=0.0, out_of=4, diagnosis=(), started=False)
    )
    assert "not started" in line("relu")


def test_record_is_one_json_object_a_line(folder: Path) -> None:
    check("relu", points=4, passed=True)
    hint("relu")
    events = [json.loads(text) for text in (folder / RECORD).read_text().splitlines()]
    assert [(e["kind"], e["exercise"]) for e in events] == [("check", "relu"), ("hint", "relu")]
    assert all(e["at"].endswith("+00:00") for e in events)


@pytest.mark.parametrize(
    "broken",
    [
        b"not json",
        b"\xff\xfe\x00",
        b"[1, 2]",
        b'{"kind": "check", "exercise": "relu"}',
        b'{"kind": "check", "exercise": "relu", "passed": true, "points": NaN}',
        b'{"kind": "check", "exercise": "relu", "passed": "yes", "points": 4}',
        b'{"kind": "hint", "exercise": "relu", "number": "two"}',
        b'{"kind": "hint", "exercise": 7, "number": 1}',
        b"[" * 100_000,
    ],
)
def test_broken_line_costs_that_line_only(folder: Path, broken: bytes) -> None:
    check("swish", points=2)
    with open(folder / RECORD, "ab") as file:
        file.write(broken + b"\n")
    check("relu", points=3)
    assert standing("swish").points == 2
    assert standing("relu").points == 3
    assert "skipped what could not be read (line 2)" in str(progress())
    assert "skipped what could not be read (line 2)" in progress()._repr_html_()


def test_torn_last_line_does_not_swallow_the_next(folder: Path) -> None:
    check("swish", points=2)
    with open(folder / RECORD, "ab") as file:
        file.write(b'{"kind": "check", "exer')  # killed while writing
    check("relu", points=3)
    assert standing("relu").points == 3
    assert standing("swish").points == 2


def test_events_of_a_newer_course_and_of_gone_exercises_are_let_be(folder: Path) -> None:
    (folder / ".grader").mkdir()
    (folder / RECORD).write_text(
        '{"kind": "badge", "exercise": "relu"}\n{"kind": "hint", "exercise": "gone", "number": 1}\n'
    )
    assert str(progress()).startswith("0 of 3 exercises passed")
    assert "could not be read" not in str(progress())


def test_unwritable_folder_works_without_recording_and_says_so_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / ".grader").write_text("a file where the folder should be")
    check("relu", points=4, passed=True)
    check("swish", points=1)
    hint("relu")
    out, err = capsys.readouterr()
    assert out.count("Progress is not being recorded") == 1
    assert err == ""
    assert "passed" in line("relu"), "this session still knows"
    assert standing("relu").last_hint == 1
    assert "Not recorded" in str(progress())


def test_record_that_is_a_folder(folder: Path) -> None:
    (folder / RECORD).mkdir(parents=True)
    check("relu", points=2)
    assert "Cannot read" in str(progress())
    assert standing("relu").points == 2


def test_folder_without_lessons_is_not_littered(folder: Path) -> None:
    (folder / "02_relu.ipynb").unlink()
    check("relu", points=2)
    assert list(folder.iterdir()) == []
    assert standing("relu").points == 2


def test_record_is_found_from_a_folder_below(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("relu", points=2)
    below = folder / "scratch"
    below.mkdir()
    (below / "try.ipynb").write_text("{}")
    monkeypatch.chdir(below)
    assert standing("relu").points == 2


def test_lessons_fetched_one_by_one_share_a_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for lesson in ("02_relu", "03_straight_through"):
        (folder / lesson).mkdir()
        (folder / lesson / f"{lesson}.ipynb").write_text("{}")
    monkeypatch.chdir(folder / "02_relu")
    check("relu", points=2)
    monkeypatch.chdir(folder / "03_straight_through")
    assert standing("relu").points == 2
    assert not (folder / "02_relu" / ".grader").exists(), "it would be handed in with the lesson"


def test_grading_run_records_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "s")
    check("relu", points=2)
    assert not (folder / ".grader").exists()


def test_deleted_current_folder(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    code = (
        "import os, sys; os.mkdir(sys.argv[1]); os.chdir(sys.argv[1]); os.rmdir(sys.argv[1])\n"
        "from grader.learning import journal\n"
        "journal.append({'kind': 'hint', 'exercise': 'relu', 'number': 1}); print(len(journal.load().events))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code, str(gone)], capture_output=True, text=True, env={"PYTHONPATH": str(root)}
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_two_notebooks_at_once_do_not_mix(folder: Path) -> None:
    code = (
        "from grader.learning import journal\n"
        "for k in range(200): journal.append({'kind': 'hint', 'exercise': 'relu' * 50, 'number': 1})"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[2])}
    writers = [subprocess.Popen([sys.executable, "-c", code], cwd=folder, env=env) for _ in range(3)]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = [text for text in (folder / RECORD).read_text().splitlines() if text]
    assert len(lines) == 600
    assert {json.loads(text)["exercise"] for text in lines} == {"relu" * 50}


def test_reset_and_undo(folder: Path) -> None:
    check("relu", points=4, passed=True)
    hint("relu")
    check("swish", points=3, passed=True)
    shown = str(progress(reset="relu"))
    assert 'progress(undo="relu")' in shown
    assert "not started" in line("relu")
    assert standing("relu").hints == 0
    assert "passed" in line("swish")
    check("relu", points=1)
    progress(undo="relu")
    assert (standing("relu").tries, standing("relu").points, standing("relu").hints) == (2, 4.0, 1)
    progress(undo="relu")
    assert standing("relu").points == 4.0, "an undo too many changes nothing"


def test_reset_of_a_lesson(folder: Path) -> None:
    for id in ("relu", "swish", "sign_clipped"):
        check(id, points=2)
    progress(reset="02_relu")
    assert [standing(id).tries for id in ("relu", "swish", "sign_clipped")] == [0, 0, 1]


def test_reset_of_an_unknown_name_changes_nothing(folder: Path) -> None:
    check("relu", points=2)
    shown = str(progress(reset="relo"))
    assert "Did you mean `relu`" in shown
    assert standing("relu").points == 2


def test_html_has_an_item_an_exercise_and_says_the_state_in_words(folder: Path) -> None:
    check("relu", points=4, passed=True, diagnosis=())
    html = progress()._repr_html_()
    assert html.count("<li") == 3
    assert html.count("<details") == 2
    assert html.count("<details open") == 1, "the lesson to go on with"
    assert "<code>sign_clipped</code>" in html
    assert "4 of 4 points, passed" in html
    assert html.count("not started") == 2


def test_next_step_stays_in_the_lesson_last_worked_in_then_goes_to_the_first_gap(folder: Path) -> None:
    assert "Next: relu in 02_relu" in str(progress())
    check("sign_clipped", points=1)
    assert "Next: sign_clipped in 03_straight_through, which you have begun" in str(progress())
    check("sign_clipped", points=2, passed=True)
    assert "Next: relu in 02_relu" in str(progress())
    check("relu", passed=True)
    check("swish", passed=True)
    assert "Every exercise is passed" in str(progress())


def test_strip_of_a_lesson(folder: Path) -> None:
    check("relu", points=4, passed=True)
    strip = progress("02_relu")
    assert str(strip).startswith("02_relu: 1 of 2 passed")
    assert "✓ relu" in str(strip)
    assert "Next: swish" in str(strip)
    assert "sign_clipped" not in strip._repr_html_()
    assert "Next: sign_clipped" in str(progress("03")), "each strip speaks of its own lesson"
    check("sign_clipped", points=2, passed=True)
    assert "This lesson is done." in str(progress("03"))
    assert str(progress("02")) == str(strip)
    assert "no lesson `05`" in str(progress("05"))


def test_a_grading_run_sees_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("relu", points=4, passed=True)
    monkeypatch.setenv("GRADER_CLASS_SECRET", "s")
    assert (str(progress()), str(progress("02_relu")), progress()._repr_html_()) == ("", "", "")


def test_reset_of_everything(folder: Path) -> None:
    for id in ("relu", "swish", "sign_clipped"):
        check(id, points=2)
    progress(reset="all")
    assert str(progress()).startswith("0 of 3 exercises passed, 0 of 9 points")
    progress(undo="all")
    assert str(progress()).startswith("0 of 3 exercises passed, 6 of 9 points")


def test_markup_in_the_record_is_shown_as_text(folder: Path) -> None:
    check("relu", diagnosis=("<script>alert(1)</script>",))
    assert "<script>" not in progress()._repr_html_()
