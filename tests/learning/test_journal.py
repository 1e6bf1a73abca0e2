"""The journal as a file: whatever stands in it, whoever writes to it at the same time, only broken lines are lost."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.learning import journal
from grader.learning.standing import standings

ROOT = Path(__file__).parents[2]

any_speed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
ids = st.sampled_from(["relu", "swish", "sign_clipped"])
checks = st.fixed_dictionaries(
    {"kind": st.just("check"), "exercise": ids, "passed": st.booleans(), "points": st.floats(0, 4)},
    optional={"diagnosis": st.lists(st.text(max_size=5), max_size=2), "code": st.text(max_size=4)},
)
hints = st.fixed_dictionaries({"kind": st.just("hint"), "exercise": ids, "number": st.integers(1, 3)})
others = st.fixed_dictionaries({"kind": st.sampled_from(["reset", "undo", "solution", "restore"]), "exercise": ids})
events = st.one_of(checks, hints, others)
rubbish = st.binary(max_size=40).map(lambda b: b.replace(b"\n", b""))


def written(lines: list[bytes], *, end: bytes = b"\n") -> journal.Log:
    """What is read from a record of these lines."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "progress.jsonl"
        path.write_bytes(b"\n".join(lines) + end)
        log = journal.Log()
        journal._read(path, log)
        return log


@any_speed
@given(st.lists(st.one_of(events, rubbish), max_size=20))
def test_a_damaged_line_loses_only_itself(mixed: list[journal.Event | bytes]) -> None:
    lines = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in mixed]
    sound = [item for item in mixed if not isinstance(item, bytes)]
    log = written(lines)
    assert [event for event in log.events if event in sound] == sound


@any_speed
@given(st.lists(events, min_size=1, max_size=8), st.data())
def test_a_file_cut_off_anywhere_keeps_every_whole_line(kept: list[journal.Event], data: st.DataObject) -> None:
    lines = [json.dumps(event).encode() for event in kept]
    whole = b"\n".join(lines)
    at = data.draw(st.integers(0, len(whole)))
    complete = whole[:at].count(b"\n")
    log = written([whole[:at]], end=b"")
    assert log.events[:complete] == kept[:complete]


@any_speed
@given(st.lists(events, max_size=30), ids)
def test_reset_forgets_and_undo_gives_all_of_it_back(history: list[journal.Event], id: str) -> None:
    before = standings(history).get(id)
    reset, undo = {"kind": "reset", "exercise": id}, {"kind": "undo", "exercise": id}
    after = standings([*history, reset])
    assert (after[id].tries, after[id].attempts, after[id].hints, after[id].word) == (0, 0, 0, "not started")
    if before is not None:
        assert standings([*history, reset, undo])[id] == before


@any_speed
@given(st.lists(checks, max_size=20))
def test_standing_against_a_count_by_hand(history: list[journal.Event]) -> None:
    for id, state in standings(history).items():
        own = [event for event in history if event["exercise"] == id]
        assert state.tries == len(own)
        assert state.attempts == len({event["code"] for event in own if event.get("code")})
        assert state.points == max(event["points"] for event in own)
        assert state.passed is any(event["passed"] for event in own)


WRITER = (
    "import sys; from grader.learning import journal\n"
    "for k in range(int(sys.argv[2])):\n"
    "    journal.append({'kind': 'hint', 'exercise': sys.argv[1] + 'x' * (k % 300), 'number': k + 1})\n"
)


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WRITER, name, str(count)], cwd=folder, env={"PYTHONPATH": str(ROOT)})


def test_kernels_at_once_after_a_torn_line_lose_nothing(folder: Path) -> None:
    record = folder / ".grader" / "progress.jsonl"
    record.parent.mkdir()
    record.write_bytes(b'{"kind": "hint", "exercise": "relu", "number": 3}\n{"kind": "hint", "exer')
    writers = [writer(folder, name, 150) for name in ("a", "b", "c", "d")]
    assert [process.wait(timeout=60) for process in writers] == [0, 0, 0, 0]
    log = journal.load()
    assert len(log.events) == 1 + 4 * 150
    for name in "abcd":
        own = [event["number"] for event in log.events if event["exercise"].startswith(name)]
        assert own == list(range(1, 151)), "each kernel's events in its own order"
    assert [text for text in log.problems if "line 2)" in text], log.problems


def test_kernels_killed_while_writing_cost_at_most_a_line_each(folder: Path) -> None:
    writers = [writer(folder, name, 1_000_000) for name in ("a", "b")]
    record = folder / ".grader" / "progress.jsonl"
    while not (record.exists() and record.stat().st_size > 50_000):
        assert all(process.poll() is None for process in writers)
        time.sleep(0.02)
    for process in writers:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    journal.append({"kind": "hint", "exercise": "relu", "number": 1})
    log = journal.load()
    for name in "ab":
        own = [event["number"] for event in log.events if event["exercise"].startswith(name)]
        assert own == list(range(1, len(own) + 1)), "no gap: what was lost was the last"
    assert log.events[-1]["exercise"] == "relu"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_said_and_the_session_remembers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".grader").mkdir()
    (folder / ".grader" / "progress.jsonl").symlink_to("/dev/full")
    journal.append({"kind": "hint", "exercise": "relu", "number": 1})
    assert "No space left" in capsys.readouterr().out
    assert journal._unrecorded[-1]["exercise"] == "relu"
