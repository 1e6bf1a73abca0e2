"""Folders of files: what of a folder may be copied, and how a whole folder takes another's place at once."""

from __future__ import annotations

import ctypes
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["Shelf", "ordinary_files"]

AT_FDCWD = -100  # Linux: paths are relative to the working directory
RENAME_EXCHANGE = 2  # Linux: two names change places in one step


def ordinary_files(folder: Path, ignore: list[str], *, links: bool = False) -> Iterator[Path]:
    """The files below `folder`, as paths relative to it; no sockets or pipes. Links to folders are not followed.

    ignore: patterns of names to leave out (CourseDirectory.ignore), read as nbgrader reads them.
    links: whether a link to a file counts as that file.
    """
    for place, folders, names in os.walk(folder):
        left_out = {found for pattern in ignore for found in glob.glob(os.path.join(glob.escape(place), pattern))}
        folders[:] = [name for name in folders if os.path.join(place, name) not in left_out]
        for path in (Path(place, name) for name in sorted(names)):
            if str(path) not in left_out and path.is_file() and (links or not path.is_symlink()):
                yield path.relative_to(folder)


class Shelf:
    """One of a class's folders of results, `root`/STUDENT/LESSON/, each of which is replaced as a whole.

    A new one is made beside the old one and takes its place in one step: whenever the run is killed, the old
    one or the new one is there, never a mixture.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.new, self.old = root / ".new", root / ".old"

    def restore(self) -> None:
        """Undo what a killed run left half done."""
        for aside in self.old.glob("*/*"):
            with suppress(OSError):  # the new one has taken its place
                os.rename(aside, self.root / aside.relative_to(self.old))
        self.clear()

    def clear(self) -> None:
        """Take away what was being made."""
        shutil.rmtree(self.new, ignore_errors=True)
        shutil.rmtree(self.old, ignore_errors=True)

    def start(self, student: str, lesson: str) -> Path:
        """An empty folder to make the new one in."""
        path = self.new / student / lesson
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        return path

    def finish(self, student: str, lesson: str) -> None:
        """Put what was made in the place of what was there."""
        new, place = self.new / student / lesson, self.root / student / lesson
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(new, place)
        elif _exchange(new, place):
            shutil.rmtree(new)
        else:  # other systems and network drives: two steps, and `restore` mends what was killed between them
            aside = self.old / student / lesson
            aside.parent.mkdir(parents=True, exist_ok=True)
            os.rename(place, aside)
            os.rename(new, place)
            shutil.rmtree(aside)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0)
