"""What a run shows while it goes on: a bar with the time left on a terminal, lines elsewhere."""

from __future__ import annotations

import io

from rich.console import Console

from grader.classroom.outcome import ExerciseResult, Outcome, Status
from grader.classroom.progress import Bar, Lines, Watcher, watcher

GRADED = Outcome("ada", "02_relu", Status.GRADED, exercises=[ExerciseResult("relu", 3.5, 4, False)], seconds=0.25)
LOOK = Outcome("bo", "02_relu", Status.LOOK, "relu entered as 0: the hidden test gave no usable result")


def shown(*, terminal: bool) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    made = watcher(console)
    assert type(made) is (Bar if terminal else Lines)
    made.begin("2 processes on this machine", 3)
    for outcome in (GRADED, None, LOOK):
        made.done(outcome)
    made.end()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_lines() -> None:
    assert shown(terminal=False).splitlines() == [
        "Grading with 2 processes on this machine.",
        "[1/3] ada 02_relu: graded 3.5 / 4 (0.2 s)",
        "[3/3] bo 02_relu: needs-a-look 0 / 0 (0.0 s)",
    ]


def test_a_bar_with_the_time_left_and_what_needs_a_look() -> None:
    text = shown(terminal=True)
    assert "Grading with 2 processes on this machine." in text
    assert "3/3" in text
    assert "left:" in text
    assert "bo 02_relu: needs-a-look: relu entered as 0" in text


def test_a_silent_watcher_says_nothing() -> None:
    silent = Watcher()
    silent.begin("here", 1)
    silent.done(None)
    silent.end()
