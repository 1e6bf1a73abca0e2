"""timestamp.txt, which says when a submission was handed in: what nbgrader cannot read would end its grading."""

from __future__ import annotations

import shutil
from pathlib import Path

from nbgrader.utils import parse_utc

__all__ = ["drop_unreadable"]

_LONGEST = 200


def drop_unreadable(folder: Path) -> list[str]:
    """Take a timestamp.txt that is none out of a copy of a submission; a note that says so, if it was one."""
    file = folder / "timestamp.txt"
    if file.is_dir():
        shutil.rmtree(file)
        return [_note("it is a folder")]
    if not file.is_file():
        return []
    try:
        text = file.read_bytes()[:_LONGEST].decode("utf-8-sig").strip()
        parse_utc(text)
    except (ValueError, OverflowError, TypeError, AttributeError, OSError) as error:
        file.unlink()
        return [_note(str(error))]
    file.write_text(text + "\n", encoding="utf-8")
    return []


def _note(why: str) -> str:
    return f"timestamp.txt was left out, so the submission counts as in time: {why[:_LONGEST]}"
