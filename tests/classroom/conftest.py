"""A small class for the tests: made once, copied for each test that changes it."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest
from nbformat import NotebookNode

from grader.classroom.create import new_class
from grader.classroom.execute import ExecuteLesson
from grader.classroom.folder import ClassFolder
from grader.classroom.master import Master, load_master
from grader.grading.engine import Engine, local
from grader.grading.level import Level
from grader.grading.pool import Pool
from grader.grading.work import Sandbox, Work
from grader.grading.worker import grade_batch


def _course() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny_course", Path(__file__).with_name("course.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tiny_lessons() -> dict[str, NotebookNode]:
    """The instructor's notebooks of the tiny course, see course.py."""
    lessons: dict[str, NotebookNode] = _course().lessons()
    return lessons


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, tiny_lessons: dict[str, NotebookNode]) -> ClassFolder:
    """A class that no test may change."""
    return new_class(tmp_path_factory.mktemp("made") / "tiny", lessons=tiny_lessons).folder


@pytest.fixture
def klass(made: ClassFolder, tmp_path: Path) -> ClassFolder:
    """A class of its own for one test."""
    shutil.copytree(made.root, tmp_path / "tiny")
    return ClassFolder.open(tmp_path / "tiny")


@pytest.fixture(scope="session")
def master(made: ClassFolder) -> Master:
    """00_warm_up as released: double (2 points) and triple (3 points)."""
    return load_master(made, "00_warm_up")


@pytest.fixture(autouse=True)
def one_worker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grade in this process, which keeps its warm process from test to test; those marked `pool` use the real pool."""
    if "pool" in request.keywords:
        return

    def here(pool: Pool) -> Engine:
        return replace(
            local(pool),
            open=partial(ThreadPoolExecutor, 1),
            close=lambda executor: executor.shutdown(cancel_futures=True),
            workers=1,
            grade=partial(grade_batch, sandbox=Sandbox(pool.level)),
        )

    def idle(self: Pool, level: Level, workers: int) -> None:
        self.level, self.workers = level, workers

    monkeypatch.setattr("grader.classroom.run.local", here)
    monkeypatch.setattr(Pool, "__init__", idle)
    monkeypatch.setattr(Pool, "warm", "")
    monkeypatch.setattr(Pool, "stop", lambda self: None)


ANSWERS = {
    "double": "def double(x):\n    return 2 * x",
    "triple": "def triple(x):\n    return 3 * x",
    "square": "def square(x):\n    return x * x",
}


class Student:
    """Writes submissions: `Student(folder, "ada").hand_in("00_warm_up", double="...")`."""

    def __init__(self, folder: ClassFolder, name: str) -> None:
        self.folder, self.name = folder, name

    def hand_in(
        self,
        lesson: str = "00_warm_up",
        edit: Callable[[NotebookNode], Any] = lambda nb: None,
        *,
        name: str | None = None,
        **answers: str,
    ) -> Path:
        """The released notebook with right answers, but for `answers` ("" leaves the stub); then `edit`."""
        notebook = nbformat.read(self.folder.release(lesson), as_version=4)
        for cell in notebook.cells:
            answer = answers.get(cell.id, ANSWERS.get(cell.id, ""))
            if answer:
                cell.source = answer
        edit(notebook)
        return self.write(json.dumps(notebook), lesson, name=name)  # nbformat would mend it

    def write(self, text: str, lesson: str = "00_warm_up", *, name: str | None = None) -> Path:
        place = self.folder.submitted(self.name, lesson)
        place.mkdir(parents=True, exist_ok=True)
        (place / (name or f"{lesson}.ipynb")).write_text(text, encoding="utf-8")
        return place / (name or f"{lesson}.ipynb")


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of the submissions that were sent to be run, in order."""
    keys: list[str] = []
    work = ExecuteLesson.work

    def noted(self: ExecuteLesson, nb: NotebookNode, files: dict[str, bytes], key: str = "") -> Work:
        keys.append(key)
        return work(self, nb, files, key)

    monkeypatch.setattr(ExecuteLesson, "work", noted)
    return keys


@pytest.fixture
def student(klass: ClassFolder) -> Callable[[str], Student]:
    return lambda name: Student(klass, name)
