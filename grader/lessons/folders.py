"""Where a course lies on disk: its root, its lessons, and the two folders a lesson lives in."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from grader.errors import GraderError

__all__ = ["LESSON_NAME", "Folders", "course_root", "lesson_names", "lesson_path", "shown", "write_whole"]

LESSON_NAME = re.compile(r"\d\d_[a-z0-9_]+")
"""A lesson's name, `NN_slug`: also its file's stem and its nbgrader assignment."""


@dataclass(frozen=True)
class Folders:
    """The folder of lesson sources and the folder their notebooks are written to.

    `options` is what a command line needs to mean the same folders: empty for those of the course.
    """

    solutions: Path
    notebooks: Path
    options: str = ""

    @classmethod
    def of(cls, *, solutions: Path | None = None, notebooks: Path | None = None) -> Folders:
        """The given folders; else those of the course: `solutions/`, and `notebooks/` beside the sources."""
        source = solutions if solutions is not None else course_root() / "solutions"
        if not source.is_dir():
            raise GraderError(f"there is no folder {shown(source)}: give the folder of the lesson sources")
        given = {"--solutions": solutions, "--notebooks": notebooks}
        options = "".join(f" {option} {shown(path)}" for option, path in given.items() if path is not None)
        return cls(source, notebooks or source.absolute().parent / "notebooks", options)

    def names(self) -> list[str]:
        """The names of all lessons, in course order: each .py file that starts with no underscore."""
        return sorted(path.stem for path in self.solutions.glob("*.py") if not path.stem.startswith("_"))

    def source(self, name: str) -> Path:
        """The source file of lesson `name`."""
        return self.solutions / f"{name}.py"

    def notebook(self, name: str) -> Path:
        """The generated notebook of lesson `name`."""
        return self.notebooks / f"{name}.ipynb"

    def select(self, wanted: Iterable[str]) -> list[str]:
        """Lesson names for what someone typed: `02_relu`, `02` or `solutions/02_relu.py`; nothing means all.

        Raises GraderError where a word fits no lesson or several, and where the folder holds no lesson.
        """
        known = self.names()
        if not known:
            raise GraderError(f"{shown(self.solutions)} holds no lesson: a lesson is a file like 02_relu.py")
        chosen = {self._select_one(word, known) for word in wanted}
        return [name for name in known if name in chosen] if chosen else known

    def _select_one(self, word: str, known: list[str]) -> str:
        name = Path(word).stem
        fitting = [name] if name in known else [each for each in known if name and each.startswith(name)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise GraderError(f"'{word}' fits several lessons: {', '.join(fitting)}. Type one of them")
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise GraderError(
            f"there is no lesson '{word}' in {shown(self.solutions)}.{hint} Lessons: {', '.join(known)}"
        )


def course_root(start: Path | None = None) -> Path:
    """The folder of the course: the nearest upwards from `start` (default: here) that holds lesson sources.

    Falls back to the checkout this package was installed from. Raises GraderError where there is none, as
    in a copy installed without the sources.
    """
    here = (start if start is not None else Path.cwd()).absolute()
    checkout = Path(__file__).absolute().parents[2]
    for folder in [here, *here.parents, checkout]:
        if any(LESSON_NAME.fullmatch(path.stem) for path in (folder / "solutions").glob("*.py")):
            return folder
    raise GraderError(
        f"no course found: neither {here} nor a folder above it holds lesson sources (solutions/NN_slug.py). "
        "An installed copy of the package carries no sources: change into a clone of the course and try again"
    )


def lesson_names(root: Path | None = None) -> list[str]:
    """The names of all lessons of the course at `root` (default: the course found from here), in order."""
    return Folders.of(solutions=(root if root is not None else course_root()) / "solutions").names()


def lesson_path(name: str, root: Path | None = None) -> Path:
    """The source file of lesson `name` (also `02` for `02_relu`). Raises GraderError for an unknown one."""
    folders = Folders.of(solutions=(root if root is not None else course_root()) / "solutions")
    return folders.source(folders.select([name])[0])


def shown(path: Path) -> str:
    """`path` as a message should show it: relative to where the user is, if it lies below."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def write_whole(path: Path, text: str) -> None:
    """Write so that a reader sees the old file or the new one, never half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
