"""What an attack did besides its points, seen from outside afterwards: in what was written, shown and reached."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from grader.attacks.attack import LESSON, Field
from grader.attacks.routes.shown import script

__all__ = ["done_by"]


def done_by(id: str, student: str, field: Field, *, marks: dict[str, str], visitors: set[str]) -> list[str]:
    """What the attacker did, in words; marks: what each random word stands for, by the word."""
    shown = "\n".join(_shown(field.root, student))
    done = [f"{what} read" for mark, what in marks.items() if mark in shown]
    done += ["wrote outside its folder"] * bool(list(field.loot.glob(f"{id}*")) or (field.root / id).exists())
    done += ["reached a server"] * (id in visitors)
    done += ["a script in a page"] * any(script(id) in page for page in _pages(field.root, student))
    return done


def _shown(root: Path, student: str) -> Iterator[str]:
    """All that a grading run left of the submission, but the text of the cells."""
    for file in _files(root / "autograded" / student) + _files(root / ".grader" / "outcomes" / student):
        text = _text(file)
        yield _outputs(text) if file.name == f"{LESSON}.ipynb" else text


def _outputs(text: str) -> str:
    """The outputs of a notebook."""
    try:
        return "\n".join(json.dumps(cell.get("outputs", ())) for cell in json.loads(text)["cells"])
    except (ValueError, KeyError):
        return text


def _pages(root: Path, student: str) -> Iterator[str]:
    yield from (_text(file) for file in _files(root / "feedback" / student))
    yield from (_text(file) for file in root.glob("*.html"))


def _files(folder: Path) -> list[Path]:
    return [file for file in sorted(folder.rglob("*")) if file.is_file()]


def _text(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text(errors="replace")
    return ""
