"""A class graded by nbgrader alone: its own commands, its own preprocessors, nothing of ours but the lessons' tests.

What the attack suite and the bench compare with. nbgrader runs students' code with the rights of whoever calls this,
so only submissions that were made here belong in such a class.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook, MissingEntry

from grader.errors import GraderError

__all__ = ["Ran", "StockClass", "scores"]

COURSE = "stock"
CONFIG = f'c = get_config()  # noqa: F821\nc.CourseDirectory.course_id = "{COURSE}"\n'


@dataclass(frozen=True)
class Ran:
    """One nbgrader command: seconds on the clock, whether it came to its end, what it said."""

    seconds: float
    finished: bool
    said: str


@dataclass(frozen=True)
class StockClass:
    """A class folder with nbgrader's own defaults."""

    root: Path

    @classmethod
    def make(cls, root: Path, lessons: Mapping[str, NotebookNode]) -> StockClass:
        """A new class in `root` with these instructor's notebooks released. GraderError where nbgrader refuses one."""
        made = cls(root.resolve())
        (made.root / "home").mkdir(parents=True)
        (made.root / "submitted").mkdir()
        (made.root / "nbgrader_config.py").write_text(CONFIG)
        for name, notebook in lessons.items():
            place = made.root / "source" / name / f"{name}.ipynb"
            place.parent.mkdir(parents=True)
            nbformat.write(notebook, place)
            ran = made.nbgrader("generate_assignment", name, "--force")
            if not ran.finished:
                raise GraderError(f"nbgrader does not take lesson {name}:\n{ran.said[-2000:]}")
        return made

    def copied(self, root: Path) -> StockClass:
        """The same class in another folder."""
        shutil.copytree(self.root, root, symlinks=True)
        return StockClass(root.resolve())

    def release(self, lesson: str) -> Path:
        return self.root / "release" / lesson / f"{lesson}.ipynb"

    def submitted(self, student: str, lesson: str) -> Path:
        return self.root / "submitted" / student / lesson

    def autograde(
        self, lesson: str, student: str | None = None, *, secret: str = "public", seconds: float = 3600.0
    ) -> Ran:
        """`nbgrader autograde` of a lesson: everyone's, one after another, or that of one student.

        secret: seeds the hidden tests, as in a class of ours. seconds: when to give up.
        """
        only = [] if student is None else ["--student", student]
        return self.nbgrader("autograde", lesson, *only, secret=secret, seconds=seconds)

    def nbgrader(self, *words: str, secret: str = "public", seconds: float = 600.0) -> Ran:
        """Run an nbgrader command in the class, ended with all that it started after `seconds`."""
        start, log = time.monotonic(), self.root / "nbgrader.log"
        with log.open("w+") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "nbgrader", *words],
                cwd=self.root,
                env=self._environment(secret),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code: int | None = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
            taken = time.monotonic() - start
        return Ran(taken, code == 0, log.read_text(errors="replace"))

    def _environment(self, secret: str) -> dict[str, str]:
        """This process's, with an empty home folder, so that nobody's profile is read or written."""
        home, commands = str(self.root / "home"), str(Path(sys.executable).parent)
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER_", "IPYTHON"))},
            "HOME": home,
            "PATH": os.pathsep.join([commands, os.environ.get("PATH", "")]),
            "OMP_NUM_THREADS": "1",
            "GRADER_CLASS_SECRET": secret,
        }

    def scores(self, lesson: str) -> dict[str, dict[str, float]]:
        """The points in the gradebook, by student and test cell. GraderError where the gradebook cannot be read."""
        return scores(self.root / "gradebook.db", lesson, COURSE)


def scores(gradebook: Path, lesson: str, course: str) -> dict[str, dict[str, float]]:
    """The points of a lesson in any class's gradebook, by student and test cell."""
    found: dict[str, dict[str, float]] = {}
    try:
        with Gradebook(f"sqlite:///{gradebook}", course) as opened:
            for submission in opened.find_assignment(lesson).submissions:
                grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
                found[submission.student_id] = {grade.name: float(grade.score or 0.0) for grade in grades}
    except MissingEntry:
        return {}
    except Exception as error:
        raise GraderError(f"{gradebook} cannot be read: {error}") from error
    return found
