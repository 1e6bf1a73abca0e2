"""The committed notebooks against their sources: write them, or say how they differ and what to run."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbgrader.utils import compute_checksum

from grader.errors import GraderError
from grader.lessons.build import build_release, notebook_text
from grader.lessons.folders import LESSON_NAME, Folders, shown, write_whole

__all__ = ["Difference", "build_lessons", "compare_lessons"]

_MOST_DIFF_LINES = 60


@dataclass(frozen=True)
class Difference:
    """A notebook that is not what its source builds: what differs, as text, and the command that mends it."""

    notebook: Path
    what: str
    command: str

    def __str__(self) -> str:
        return f"{shown(self.notebook)}: {self.what}\nRun: {self.command}"


def build_lessons(folders: Folders, names: Iterable[str] = (), *, force: bool = False) -> list[Path]:
    """Build the notebooks of `names` (none: of all lessons); return those written, in course order.

    Nothing is written before every source has been built; a notebook that would not change is not touched.
    Raises GraderError for a source that cannot be built, and, without `force`, for a notebook someone
    worked in.
    """
    texts = _build_all(folders, folders.select(names))
    stale = {path: text for path, text in texts.items() if _on_disk(path) != text.encode()}
    if not force:
        for path in stale:
            _refuse_answers(path, folders)
    folders.notebooks.mkdir(parents=True, exist_ok=True)
    for path, text in stale.items():
        write_whole(path, text)
    return list(stale)


def compare_lessons(folders: Folders, names: Iterable[str] = ()) -> list[Difference]:
    """How the notebooks on disk differ, byte for byte, from what their sources build; nothing is written.

    Without `names`, a notebook whose source is gone is a difference too.
    """
    wanted = tuple(names)
    differences = [
        _difference(folders, path, text)
        for path, text in _build_all(folders, folders.select(wanted)).items()
        if _on_disk(path) != text.encode()
    ]
    return differences if wanted else differences + _orphans(folders)


def _build_all(folders: Folders, names: Iterable[str]) -> dict[Path, str]:
    texts, faults = {}, []
    for name in names:
        try:
            texts[folders.notebook(name)] = notebook_text(build_release(folders.source(name)))
        except GraderError as error:
            faults.append(str(error))
    if faults:
        raise GraderError("\n".join([*faults, "Nothing was written. Mend the source and run it again"]))
    return texts


def _on_disk(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _difference(folders: Folders, path: Path, text: str) -> Difference:
    command = f"grader build {path.stem}{folders.options}"
    data = _on_disk(path)
    if data is None:
        return Difference(path, "missing", command)
    old, new = data.decode("utf-8", "replace").splitlines(), text.splitlines()
    diff = list(difflib.unified_diff(old, new, "on disk", "built from the source", lineterm="", n=2))
    cut = [f"... and {len(diff) - _MOST_DIFF_LINES} more lines"] if len(diff) > _MOST_DIFF_LINES else []
    shown_diff = diff[:_MOST_DIFF_LINES] or ["(the bytes differ in line ends only)"]
    return Difference(path, "\n".join(["not what its source builds", *shown_diff, *cut]), command)


def _orphans(folders: Folders) -> list[Difference]:
    names = set(folders.names())
    return [
        Difference(path, f"has no source {shown(folders.source(path.stem))}", f"git rm {shown(path)}")
        for path in sorted(folders.notebooks.glob("*.ipynb"))
        if LESSON_NAME.fullmatch(path.stem) and path.stem not in names
    ]


def _refuse_answers(path: Path, folders: Folders) -> None:
    """Raise GraderError where the notebook on disk holds more than an earlier build: outputs or answers."""
    data = _on_disk(path)
    if data is None:
        return
    reason = _worked_in(data)
    if reason:
        raise GraderError(
            f"{shown(path)} {reason}, and building would overwrite it. Keep a copy elsewhere if you need it, "
            f"then run `grader build --force {path.stem}{folders.options}`"
        )


def _worked_in(data: bytes) -> str:
    try:
        notebook = nbformat.reads(data.decode("utf-8"), as_version=4)
        for cell in notebook.cells:
            if cell.get("outputs") or cell.get("execution_count"):
                return "has been run"
            checksum = cell.metadata.get("nbgrader", {}).get("checksum")
            if checksum and checksum != compute_checksum(cell):
                return f"holds an answer (cell '{cell.metadata.nbgrader.grade_id}' was edited)"
    except Exception:  # whatever it is, it is not what an earlier build wrote
        return "is no readable notebook"
    return ""
