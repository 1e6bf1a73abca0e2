"""What a student's files are: zips opened one level deep, notebooks known by their cells, whatever they are called."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.classroom.handed_in import Unreadable, read
from grader.classroom.lms.archive import Member, Unsafe
from grader.classroom.lms.piece import Piece
from grader.classroom.master import Master, grade_id
from grader.classroom.repair import belonging

__all__ = ["File", "Library", "unpacked"]

LARGEST = 100.0  # megabytes of a notebook that is looked into


@dataclass(frozen=True)
class File:
    """One file of a submission. `path` is within the submission; `shown` within the zip, to name it; lesson: whose
    notebook it is, None where it is none that is known. cells: how many of the lesson's cells it has."""

    path: str
    shown: str
    member: Member
    piece: Piece
    lesson: str | None = None
    cells: int = 0

    @property
    def is_notebook(self) -> bool:
        return self.path.lower().endswith(".ipynb")


def unpacked(piece: Piece) -> Iterator[tuple[File, str]]:
    """The files of a piece, each with a note or "": the piece, or what is in it where it is a zip."""
    if not piece.file.lower().endswith(".zip"):
        yield File(piece.file, piece.member.path, piece.member, piece), ""
        return
    try:
        inside = piece.member.inside()
    except Unsafe as error:
        yield File(piece.file, piece.member.path, piece.member, piece), f"the zip {piece.file} was not opened: {error}"
        return
    for member in inside.files:
        deeper = (
            f"{member.path} is a zip within a zip and was not opened" if member.path.lower().endswith(".zip") else ""
        )
        yield File(member.path, f"{piece.member.path} > {member.path}", member, piece), deeper


class Library:
    """The lessons of the class, by their cells."""

    def __init__(self, masters: Mapping[str, Master]) -> None:
        self.masters = masters

    def identify(self, content: bytes) -> tuple[str | None, int, str]:
        """The lesson whose notebook this is, how many of its cells are there, and what else to say, or ""."""
        with tempfile.NamedTemporaryFile(suffix=".ipynb") as copy:
            copy.write(content)
            copy.flush()
            try:
                notebook = read(Path(copy.name), limit=LARGEST)
            except Unreadable as error:
                return None, 0, str(error)
        claimed = {grade_id(cell) for cell in notebook.cells}
        counts = {lesson: len(claimed & set(master.cells)) for lesson, master in self.masters.items()}
        if not any(counts.values()):
            counts = {lesson: belonging(notebook, master) for lesson, master in self.masters.items()}
        most = max(counts.values(), default=0)
        best = [lesson for lesson, count in counts.items() if count == most > 0]
        if len(best) > 1:
            return None, 0, f"it has as many cells of {' as of '.join(best)}"
        return (best[0], most, "") if best else (None, 0, "it has no cell of this class's lessons")
