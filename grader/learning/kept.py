"""Texts of answer cells that were replaced: `.grader/kept/<exercise>-001.py` and on, beside the lessons.

A file is never written twice and never deleted, so nothing a learner wrote is lost.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.errors import GraderError
from grader.learning import journal

__all__ = ["before", "keep", "kept"]


def kept(exercise: str, lesson_folder: Path) -> list[Path]:
    """The kept texts of an exercise, oldest first."""
    found = {}
    for path in _folder(lesson_folder).glob(f"{exercise}-*.py"):
        number = re.fullmatch(rf"{re.escape(exercise)}-(\d+)", path.stem)
        if number:
            found[int(number[1])] = path
    return [found[number] for number in sorted(found)]


def keep(exercise: str, text: str, lesson_folder: Path) -> Path:
    """Write `text` under the next free number; one that is kept already is not written again.

    Raises GraderError where that cannot be written: whoever wants to replace the text must not do so then.
    """
    have = kept(exercise, lesson_folder)
    for path in have:
        if _read(path) == text:
            return path
    number = int(have[-1].stem.rsplit("-", 1)[1]) + 1 if have else 1
    folder = _folder(lesson_folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        while True:
            path = folder / f"{exercise}-{number:03d}.py"
            try:
                with open(path, "x", encoding="utf-8", newline="") as file:
                    file.write(text)
                return path
            except FileExistsError:  # another kernel was quicker
                number += 1
    except OSError as error:
        raise GraderError(
            f"Nothing was changed: your text cannot be kept in {folder} ({error.strerror or error}).\n"
            "Likely cause: no permission there, or a full disk. Make room or copy your text by hand first."
        ) from error


def before(exercise: str, text: str, lesson_folder: Path) -> Path | None:
    """The text to go back to from `text`: the one kept before it, or the newest if `text` itself is not kept."""
    have = kept(exercise, lesson_folder)
    texts = [_read(path) for path in have]
    at = texts.index(text) if text in texts else len(have)
    return have[at - 1] if at > 0 else None


def _folder(lesson_folder: Path) -> Path:
    record = journal.find_record(lesson_folder)
    return (record.parent if record is not None else lesson_folder / ".grader") / "kept"


def _read(path: Path) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()
