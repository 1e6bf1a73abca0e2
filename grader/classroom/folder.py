"""Where things lie in a class folder. Nothing here reads a notebook or a gradebook."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from grader.errors import GraderError

__all__ = ["ClassFolder", "write_atomically"]

CONFIG = "nbgrader_config.py"
TERMS = "class.toml"  # dates, extensions, what lateness costs
PRIVATE = ".grader"  # ours: the secret, the verdicts, what became of each submission. Students never get it.


@dataclass(frozen=True)
class ClassFolder:
    """A class folder; `open` checks that it is one, `create` makes the bare folder."""

    root: Path

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> ClassFolder:
        """The class in `path`. GraderError when it is none."""
        folder = cls(Path(path).resolve())
        if not folder.is_class():
            what = "there is no such folder" if not folder.root.exists() else f"it has no {CONFIG}"
            raise GraderError(f"is not a class folder: {path} ({what}). Make one with: grader new-class {path}")
        return folder

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> ClassFolder:
        """The class in `path`, or a new bare folder for one. GraderError for a folder with other things in
        it."""
        folder = cls(Path(path).resolve())
        if folder.root.exists() and not folder.root.is_dir():
            raise GraderError(f"{path} is a file. Give the name of a new folder: grader new-class FOLDER")
        if not folder.is_class() and folder.root.exists() and any(folder.root.iterdir()):
            raise GraderError(
                f"{path} is not empty and is no class folder, so nothing was written. "
                f"Give the name of a new folder, for instance: grader new-class {Path(path) / 'class'}"
            )
        if not folder.root.exists():
            folder.root.mkdir(mode=0o700, parents=True)  # answers and marks, on a machine that students may share
        folder.private.mkdir(mode=0o700, exist_ok=True)
        return folder

    def is_class(self) -> bool:
        """A folder with our mark in it, or an nbgrader course made by other means."""
        return (self.root / CONFIG).is_file()

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def config_file(self) -> Path:
        return self.root / CONFIG

    @property
    def terms_file(self) -> Path:
        return self.root / TERMS

    @property
    def private(self) -> Path:
        return self.root / PRIVATE

    @property
    def secret_file(self) -> Path:
        return self.private / "secret"

    @property
    def gradebook(self) -> Path:
        return self.root / "gradebook.db"

    @property
    def gradebook_url(self) -> str:
        return f"sqlite:///{self.gradebook}"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    @property
    def tables(self) -> Path:
        return self.root / "report"

    def source(self, lesson: str) -> Path:
        return self.root / "source" / lesson / f"{lesson}.ipynb"

    def release(self, lesson: str) -> Path:
        return self.root / "release" / lesson / f"{lesson}.ipynb"

    def submitted(self, student: str, lesson: str) -> Path:
        return self.root / "submitted" / student / lesson

    def autograded(self, student: str, lesson: str) -> Path:
        return self.root / "autograded" / student / lesson / f"{lesson}.ipynb"

    def feedback(self, student: str, lesson: str) -> Path:
        return self.root / "feedback" / student / lesson / f"{lesson}.html"

    def outcome(self, student: str, lesson: str) -> Path:
        return self.private / "outcomes" / student / f"{lesson}.json"

    def lessons(self) -> list[str]:
        """The released lessons, in order of their names."""
        return sorted(path.parent.name for path in self.root.glob("release/*/*.ipynb") if path.stem == path.parent.name)

    def students(self) -> list[str]:
        """Everyone with a folder under submitted/; hidden folders and loose files are nobody."""
        found = (self.root / "submitted").glob("*")
        return sorted(path.name for path in found if path.is_dir() and not path.name.startswith("."))

    def strays(self) -> list[str]:
        """What lies under submitted/ where no lesson is expected, as paths to show; it is not graded."""
        known = set(self.lessons())
        found = [p for p in (self.root / "submitted").glob("*") if not p.is_dir()]
        for student in self.students():
            inside = (self.root / "submitted" / student).glob("*")
            found += [p for p in inside if not (p.is_dir() and p.name in known)]
        return sorted(str(p.relative_to(self.root)) for p in found if not p.name.startswith("."))

    def secret(self) -> str:
        """The class's secret, made at the first call. It seeds the hidden tests, so that a regrade repeats
        exactly."""
        if not self.secret_file.exists():
            self.private.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.secret_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as file:
                file.write(secrets.token_hex(32) + "\n")
        return self.secret_file.read_text().strip()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the class for one writer; the system lets go when the process ends, however it does.

        GraderError when another run holds it.
        """
        self.private.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(self.private / "lock").acquire(blocking=False)
        except Timeout:
            raise GraderError(
                f"another run is working in {self.root}, and a gradebook takes one writer. "
                "Wait until it has finished, then run this again."
            ) from None
        with lock:
            yield

    def read_json(self, name: str) -> dict[str, Any]:
        """A private JSON file; empty when missing or damaged (everything in there can be made again)."""
        try:
            found = json.loads((self.private / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def write_atomically(path: Path, text: str) -> None:
    """Write all of `text` or nothing, so that a killed run leaves no half-written file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
