"""From a folder that a student handed in to a repaired notebook, and the keys that say when it has to be graded again.

    submitted/STUDENT/LESSON --find--> file --repair--> Job
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nbformat import NotebookNode

from grader.classroom.execute import files_beside
from grader.classroom.folder import ClassFolder
from grader.classroom.handed_in import ARRIVED, find, when
from grader.classroom.master import Master
from grader.classroom.outcome import Outcome, Status
from grader.classroom.repair import belonging, repair

__all__ = ["Job", "prepare", "stamp"]


@dataclass(frozen=True)
class Job:
    """A repaired submission, ready to be graded.

    files      what was handed in beside the notebook, and the instructor's data files in place of the student's
    content    stands for all that was handed in, the time of it too
    version    stands for the test set
    stamp      stands for the files' sizes and times, by which an unchanged submission is known without being read
    foreign    none of the lesson's cells were in it
    """

    student: str
    lesson: str
    notebook: NotebookNode
    files: Mapping[str, bytes]
    content: str
    version: str
    stamp: str
    notes: list[str]
    foreign: bool

    @property
    def key(self) -> str:
        """Stands for all that the verdict depends on."""
        handed = {name: _digest(data) for name, data in self.files.items() if name != ARRIVED}
        return _digest(json.dumps([self.version, _sources(self.notebook), sorted(handed.items())]).encode())


def prepare(
    folder: ClassFolder, master: Master, student: str, *, version: str, megabytes: float, files_megabytes: float
) -> Job | Outcome:
    """Find, read and repair what a student handed in; an Outcome where there is nothing to grade."""
    source = folder.submitted(student, master.lesson)
    mark = stamp(source)
    found = find(source, master, limit=megabytes)
    if found.problem is not None:
        return Outcome(student, master.lesson, Status.UNREADABLE, found.problem, found.notes)
    if found.notebook is None:
        return Outcome(student, master.lesson, Status.MISSING, found.notes[0] if found.notes else "")
    mended, notes = repair(found.notebook, master)
    files = files_beside([source, folder.source(master.lesson).parent], files_megabytes)
    return Job(
        student,
        master.lesson,
        mended,
        files,
        _content(found.path, files_beside([source], files_megabytes)),
        version,
        mark,
        [*found.notes, *notes, *filter(None, [when(source)[1]])],
        belonging(found.notebook, master) == 0,
    )


def stamp(folder: Path) -> str:
    """Changes when a file in the folder does."""
    told = []
    for path in sorted(folder.rglob("*")):
        about = path.lstat()
        told.append([str(path), about.st_size, about.st_mtime_ns, about.st_ctime_ns, about.st_ino])
    return _digest(json.dumps(told).encode("utf-8", "surrogateescape"))


def _content(notebook: Path | None, beside: Mapping[str, bytes]) -> str:
    told = [notebook and _digest(notebook.read_bytes()), sorted((name, _digest(data)) for name, data in beside.items())]
    return _digest(json.dumps(told).encode())


def _sources(notebook: NotebookNode) -> list[list[str]]:
    return [[cell.cell_type, cell.source] for cell in notebook.cells]


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
