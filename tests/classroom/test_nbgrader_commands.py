"""nbgrader's own commands and the formgrader work on a class folder, and give the scores that `grader
grade` gives."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from grader.classroom.folder import ClassFolder
from grader.classroom.run import grade_class

Students = Callable[[str], Any]


def nbgrader(folder: ClassFolder, *words: str) -> str:
    """Run `nbgrader ...` in the class folder, without the environment's commands on PATH (no activated
    venv)."""
    command = [sys.executable, "-m", "nbgrader", *words]
    env = {**os.environ, "PATH": os.defpath}
    done = subprocess.run(command, cwd=folder.root, env=env, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stderr


def scores(folder: ClassFolder) -> dict[tuple[str, str], float]:
    """What `nbgrader export` writes."""
    nbgrader(folder, "export", "--to", "grades.csv")
    with (folder.root / "grades.csv").open() as file:
        return {(row["student_id"], row["assignment"]): float(row["score"]) for row in csv.DictReader(file)}


def copied_and_looping(student: Students) -> None:
    def copy_test(nb: Any) -> None:
        nb.cells.insert(0, nb.cells[4].copy())

    student("ada").hand_in(edit=copy_test)
    student("bo").hand_in(double="import os\ndef double(x):\n    os._exit(1)")


def test_a_whole_class_through_nbgraders_commands(klass: ClassFolder, student: Students) -> None:
    copied_and_looping(student)
    nbgrader(klass, "generate_assignment", "01_powers", "--force")
    nbgrader(klass, "autograde", "00_warm_up")
    nbgrader(klass, "generate_feedback", "00_warm_up")
    expected = {
        ("ada", "00_warm_up"): 5,
        ("bo", "00_warm_up"): 3,
        ("ada", "01_powers"): 0,
        ("bo", "01_powers"): 0,
    }
    assert scores(klass) == expected
    pages = [klass.feedback(name, "00_warm_up").read_text() for name in ("ada", "bo")]
    assert all("secret_points" not in page and "HIDDEN TESTS" not in page for page in pages)

    # Our own run on top of it: the same scores; and nbgrader's commands again on top of ours.
    grade_class(klass.root)
    assert table(klass) == {"ada": 5, "bo": 3}
    nbgrader(klass, "autograde", "00_warm_up", "--force", "--student", "bo")
    assert table(klass) == {"ada": 5, "bo": 3}


def table(folder: ClassFolder) -> dict[str, float]:
    """The points of 00_warm_up in the gradebook."""
    with Gradebook(folder.gradebook_url) as gradebook:
        return {s.student_id: s.score for s in gradebook.assignment_submissions("00_warm_up")}


@contextmanager
def formgrader(folder: ClassFolder, home: Path) -> Iterator[Callable[..., Any]]:
    """A Jupyter server with the formgrader in the class folder; yields a function that asks it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "HOME": str(home), "JUPYTER_CONFIG_DIR": str(home / "config")}
    options = ["--no-browser", f"--port={port}", "--IdentityProvider.token=word", "--allow-root"]
    extension = "--ServerApp.jpserver_extensions={'nbgrader.server_extensions.formgrader': True}"
    command = [sys.executable, "-m", "jupyter_server", *options, extension]
    with (home / "log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder.root, env=env, stdout=log, stderr=log)

    def ask(path: str, *, post: bool = False) -> Any:
        headers = {"Authorization": "token word"}
        request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}", headers=headers, data=b"" if post else None)
        with urllib.request.urlopen(request, timeout=200) as answer:
            return answer.read().decode()

    try:
        for _ in range(120):
            try:
                ask("api/status")
                break
            except OSError:
                time.sleep(0.5)
        yield ask
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
def test_the_formgrader_shows_and_grades_the_class(klass: ClassFolder, student: Students, tmp_path: Path) -> None:
    copied_and_looping(student)
    grade_class(klass.root)
    student("bo").hand_in()
    with formgrader(klass, tmp_path) as ask:
        assignments = json.loads(ask("formgrader/api/assignments"))
        assert {a["name"]: (a["max_score"], a["num_submissions"]) for a in assignments} == {
            "00_warm_up": (5, 2),
            "01_powers": (4, 0),
        }
        done = json.loads(ask("formgrader/api/submission/00_warm_up/bo/autograde", post=True))
        assert done["success"], done
        rows = json.loads(ask("formgrader/api/submissions/00_warm_up"))
        assert {row["student"]: row["score"] for row in rows} == {"ada": 5, "bo": 5}
        ids = re.findall(r'"id": "(\w+)"', ask("formgrader/api/submitted_notebooks/00_warm_up/00_warm_up"))
        assert "double: 2.0 of 2" in ask(f"formgrader/submissions/{ids[0]}/?index=0")
