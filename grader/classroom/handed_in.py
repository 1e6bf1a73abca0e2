"""Which file a student handed in for a lesson, and whether it can be read. Never changes or trusts it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import parse_utc

from grader.classroom.master import Master
from grader.classroom.repair import belonging

__all__ = ["ARRIVED", "MEGABYTE", "HandedIn", "Unreadable", "find", "read", "when"]

ARRIVED = "timestamp.txt"  # nbgrader keeps the time of handing in there
MEGABYTE = 1_000_000
DEEPEST = 50  # levels of lists and objects; a notebook has six, and a widget's state some more


class Unreadable(Exception):
    """The file cannot be graded; the text says why, for the student and the instructor."""


@dataclass(frozen=True)
class HandedIn:
    """What was found. One of `notebook` and `problem` is set; both None: nothing was handed in (`notes` say
    more)."""

    path: Path | None = None
    notebook: NotebookNode | None = None
    problem: str | None = None
    notes: list[str] = field(default_factory=list)


def find(folder: Path, master: Master, *, limit: float) -> HandedIn:
    """Look for the lesson's notebook in `folder`. `limit` is in megabytes."""
    try:
        return _found(folder, master, limit)
    except OSError as error:
        return HandedIn(folder, problem=f"the folder cannot be opened: {error.strerror}")


def _found(folder: Path, master: Master, limit: float) -> HandedIn:
    if not folder.is_dir():
        return HandedIn()
    files = _notebooks(folder)
    if not files:
        others = sorted(p.name for p in folder.iterdir() if p.name != ARRIVED and not p.name.startswith("."))
        what = f"the folder holds only {', '.join(others[:5])}" if others else "the folder is empty"
        return HandedIn(notes=[f"no notebook was handed in: {what}"])
    exact = folder / f"{master.lesson}.ipynb"
    if exact in files:
        try:
            return _taken(exact, read(exact, limit=limit), files)
        except Unreadable as error:
            return _best([p for p in files if p != exact], master, limit, HandedIn(exact, problem=str(error)))
    return _best(files, master, limit, None)


def when(folder: Path) -> tuple[datetime | None, str]:
    """When it was handed in, by the folder's timestamp.txt, in UTC; and what is wrong with that file, or ""."""
    file = folder / ARRIVED
    if file.is_symlink() or not file.is_file():
        return None, ""
    try:
        text = file.read_text(encoding="utf-8-sig").strip()
        return (parse_utc(text) if text else None), ""
    except (OSError, ValueError, OverflowError):
        return None, f"{ARRIVED} holds no time, as in 2026-01-31 12:00:00 UTC, so it counts as handed in in time"


def _notebooks(folder: Path) -> list[Path]:
    """What is named like a notebook in a folder and those in it. OSError where one may not be opened."""

    def refuse(error: OSError) -> None:
        raise error

    found = []
    for inside, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if name != ".ipynb_checkpoints"]
        found += [Path(inside, name) for name in names if name.endswith(".ipynb")]
    return sorted(found)


def _best(files: list[Path], master: Master, limit: float, otherwise: HandedIn | None) -> HandedIn:
    """The notebook with most of the lesson's cells, under whatever name."""
    readable: list[tuple[int, float, Path, NotebookNode]] = []
    problems: list[str] = []
    for path in files:
        try:
            notebook = read(path, limit=limit)
        except Unreadable as error:
            problems.append(f"{path.name}: {error}")
            continue
        readable.append((belonging(notebook, master), path.stat().st_mtime, path, notebook))
    readable.sort(key=lambda found: (-found[0], -found[1], found[2].name))
    if readable and readable[0][0] > 0:
        count, _, path, notebook = readable[0]
        rivals = [found[2].name for found in readable[1:] if found[0] == count]
        notes = [f"the file is named {path.name}, not {master.lesson}.ipynb; its cells are this lesson's"]
        if rivals:
            notes.append(f"there was also {', '.join(rivals)}; the newest was taken")
        return HandedIn(path, notebook, notes=notes)
    if otherwise is not None:
        return otherwise
    if readable:
        problems.append(f"{readable[0][2].name} has none of this lesson's cells: probably another notebook")
    return HandedIn(files[0], problem="; ".join(problems))


def _taken(path: Path, notebook: NotebookNode, files: list[Path]) -> HandedIn:
    others = [p.name for p in files if p != path]
    return HandedIn(path, notebook, notes=[f"{path.name} was graded, {', '.join(others)} was not"] if others else [])


def read(path: Path, *, limit: float) -> NotebookNode:
    """The notebook in `path`, in the current format. Unreadable with the reason, and the place where it
    breaks."""
    text = _text(path, limit)
    if not text.strip():
        raise Unreadable("the file is empty (0 cells, nothing saved). Save the notebook and hand it in again")
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"the file is not valid JSON: line {error.lineno}, column {error.colno}: {error.msg}. "
            "It was probably cut off or merged by hand"
        ) from None
    except RecursionError:
        raise Unreadable("the file is JSON nested too deeply to be a notebook") from None
    except ValueError as error:  # Python's own limit
        raise Unreadable(f"the file holds a number of thousands of digits, so it is no notebook: {error}") from None
    return _notebook(_plain(content))


def _text(path: Path, limit: float) -> str:
    if path.is_symlink() or not path.is_file():
        raise Unreadable("this is a link or a special file, not a notebook; hand in the file itself")
    try:
        size = path.stat().st_size / MEGABYTE
        if size > limit:
            raise Unreadable(
                f"the file has {size:.0f} MB, more than the {limit:g} MB allowed. Stored outputs are the "
                "usual reason: clear all outputs, save, hand it in again"
            )
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8 text (byte {error.start}): no notebook") from None
    except OSError as error:
        raise Unreadable(f"the file cannot be opened: {error.strerror}") from None


def _notebook(content: Any) -> NotebookNode:
    """A notebook from JSON, as far as it is one: damaged cells are made whole or left out."""
    if isinstance(content, dict) and isinstance(content.get("worksheets"), list):
        try:
            content = nbformat.convert(nbformat.from_dict(content), 4)
        except Exception as error:
            raise Unreadable(f"the notebook is in an old format that cannot be converted: {error}") from None
    if not isinstance(content, dict) or not isinstance(content.get("cells"), list):
        raise Unreadable("the file is JSON but not a notebook: it has no list of cells")
    cells = [_cell(raw) for raw in content["cells"] if isinstance(raw, dict)]
    about = content.get("metadata")
    metadata = about if isinstance(about, dict) else {}
    made = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    notebook: NotebookNode = nbformat.from_dict(made)
    return notebook


def _text_of(source: Any) -> str:
    """A source: a text or a list of lines."""
    if isinstance(source, list):
        return "".join(map(_text_of, source))
    return "" if source is None else str(source)


def _plain(value: Any, depth: int = DEEPEST) -> Any:
    """JSON that can be copied and written again: not nested for ever, no half of a surrogate pair in its texts."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_plain(key): _plain(inner, depth - 1) for key, inner in value.items()} if depth else {}
    if isinstance(value, list):
        return [_plain(inner, depth - 1) for inner in value] if depth else []
    return value


def _cell(raw: dict[str, Any]) -> dict[str, Any]:
    """One cell with everything the format asks for; outputs are dropped, since they will be made anew."""
    source, about = raw.get("source", ""), raw.get("metadata")
    kind = raw.get("cell_type")
    cell = {
        "cell_type": kind if kind in ("code", "markdown", "raw") else "raw",
        "source": _text_of(source),
        "metadata": about if isinstance(about, dict) else {},
    }
    if isinstance(raw.get("id"), str):
        cell["id"] = raw["id"]  # repair gives the others one
    if cell["cell_type"] == "code":
        cell.update(outputs=[], execution_count=None)
    return cell
