"""`restore("relu")` and `grader restore`: the stub of an exercise, as the course released it, back in its answer cell.

Nothing else is touched, and what stood there is kept (kept.py). An open notebook belongs to the page that shows
it: JupyterLab would ask which of two versions to throw away if its file changed. So from a notebook no file is
edited: the cell that says `restore("relu")` is the one that changes, through the page itself. The command line
edits the file, byte for byte the same elsewhere (notebook_text.py).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.card import Card, block, message
from grader.learning.kept import before, keep
from grader.learning.names import exercise_named
from grader.learning.notebook_text import find_cell, replace_source
from grader.learning.workspace import find_lessons, resolve, write

__all__ = ["Restored", "find_notebook", "restore", "restore_file", "stub_of"]


@dataclass(frozen=True)
class Restored:
    """What was done in a file: `kept` is where the old text is, None if it was the stub or nothing was `changed`."""

    exercise: str
    notebook: Path
    kept: Path | None
    changed: bool
    from_kept: Path | None = None


def stub_of(exercise: Exercise) -> tuple[str, str]:
    """The text of the answer cell as released, and the cell's id."""
    cell = find_cell((find_lessons() / f"{exercise.lesson}.ipynb").read_text(encoding="utf-8"), exercise.id)
    if cell is None:
        raise GraderError(f"Lesson {exercise.lesson} of the installed course has no answer cell for {exercise.id}.")
    return cell.source, cell.cell_id


# ---- a file ----------------------------------------------------------------------------------------------------------


def find_notebook(exercise: Exercise, given: Path | None = None) -> Path:
    """The learner's notebook with this exercise: the one given, or the lesson in this folder or the course's.

    Raises GraderError where there is none.
    """
    name = f"{exercise.lesson}.ipynb"
    places = (Path(name), Path(exercise.lesson) / name, resolve(None) / name)
    found = given if given is not None else next((path for path in places if path.is_file()), None)
    if found is None or not found.is_file():
        lost = f"There is no file {given}." if given is not None else f"No {name} here or in {places[-1].parent}."
        raise GraderError(f"{lost}\nName your notebook: grader restore {exercise.id} --notebook FILE")
    return found.absolute()


def restore_file(exercise: Exercise, notebook: Path, *, undo: bool = False) -> Restored:
    """Put the stub (or with `undo` the text kept before) into the answer cell in `notebook`.

    Raises GraderError, with the file untouched, for a file that is no notebook or has no such cell, for nothing
    to undo, and where the old text cannot be kept.
    """
    try:
        text = notebook.read_bytes().decode("utf-8")
        cell = find_cell(text, exercise.id)
    except (OSError, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise GraderError(f"Nothing was changed: {notebook} cannot be read as a notebook ({error}).") from error
    if cell is None:
        raise GraderError(
            f"Nothing was changed: {notebook} has no answer cell of {exercise.id}.\n"
            "Likely cause: another lesson's notebook, or the cell was deleted (its mark went with it).\n"
            f"`grader learn` puts a fresh {exercise.lesson} in place if yours is renamed."
        )
    stub, _ = stub_of(exercise)
    new, source = _exchanged(exercise, cell.source, notebook.parent, undo=undo)
    if new == cell.source:
        return Restored(exercise.id, notebook, None, False, source)
    old = None if cell.source == stub else keep(exercise.id, cell.source, notebook.parent)
    try:
        write(notebook, replace_source(text, cell, new).encode("utf-8"))
    except OSError as error:
        raise GraderError(f"{notebook} cannot be written ({error.strerror or error}); it is as it was.") from error
    return Restored(exercise.id, notebook, old, True, source)


def _exchanged(exercise: Exercise, present: str, folder: Path, *, undo: bool) -> tuple[str, Path | None]:
    """The text to put in place of `present`, and the file it was kept in (None for the stub)."""
    if not undo:
        return stub_of(exercise)[0], None
    earlier = before(exercise.id, present, folder)
    if earlier is None:
        raise GraderError(f"Nothing to undo: no earlier text of {exercise.id} is kept here.")
    with open(earlier, encoding="utf-8", newline="") as file:
        return file.read(), earlier


# ---- a notebook ------------------------------------------------------------------------------------------------------


def restore(exercise: object = "", *, undo: bool = False) -> None:
    """Turn the answer cell of an exercise back into its stub: run it as the last line of that very cell.

    What stood in the cell is kept in `.grader/kept`; `undo=True` in the same way puts the last kept text back,
    once more the one before it. In any other cell nothing is changed, and it says where to go. Shows a card; an
    unknown id gets a message, not an error.
    """
    if "GRADER_CLASS_SECRET" in os.environ:
        return
    try:
        card = _in_notebook(exercise_named(exercise), undo=undo)
    except GraderError as error:
        card = message("Nothing was changed", [str(error)], mood="sorry")
    if _shell() is None:
        print(card)
        return
    from IPython.display import display

    display(card)  # type: ignore[no-untyped-call]


def _in_notebook(exercise: Exercise, *, undo: bool) -> Card:
    stub, cell_id = stub_of(exercise)
    shell = _shell()
    request = shell.get_parent() if hasattr(shell, "get_parent") else {}
    code = str(request.get("content", {}).get("code", ""))
    if not _is_answer_cell(exercise, code, str(request.get("metadata", {}).get("cellId", "")), cell_id):
        return _directions(exercise, stub)
    folder = Path.cwd()
    present = _without_calls(code)
    saved = _saved(exercise)
    old = [keep(exercise.id, text, folder) for text in (saved, present) if text.strip() and text != stub]
    new, source = _exchanged(exercise, present if present.strip() else saved, folder, undo=undo)
    shell.set_next_input(new, replace=True)
    journal.append({"kind": "restore", "exercise": exercise.id, "undo": undo})
    if source is not None:
        return message(f"{exercise.id}: your text is back in this cell", [f"It was kept in `{_short(source)}`."])
    texts = [f"What stood here is kept in `{_short(old[-1])}`."] if old else []
    texts.append(f'To get it back: Ctrl+Z in the cell, or `restore("{exercise.id}", undo=True)` in it, as you did now.')
    return message(f"{exercise.id}: the stub is back in this cell", texts)


def _is_answer_cell(exercise: Exercise, code: str, ran_in: str, cell_id: str) -> bool:
    """Whether the code being run is the exercise's answer cell, by the page's word for it or by what it says.

    JupyterLab names the cell. Other pages do not, or by names of their own: there the cell says what it is by
    defining the symbol, or holds nothing but the call, as it does after the advice this module gives.
    """
    defines = re.search(rf"^\s*(class|def)\s+{re.escape(exercise.symbol)}\b", code, re.MULTILINE) is not None
    return ran_in == cell_id or defines or (":" in ran_in and bool(code) and not _without_calls(code).strip())


_CALL = re.compile(r"^[ \t]*(?:grader\.)?restore\(.*\)[ \t;]*(?:#.*)?(?:\n|\Z)", re.MULTILINE)


def _without_calls(code: str) -> str:
    """The code without the lines that call restore, and without the empty lines that leaves at its end."""
    rest = _CALL.sub("", code)
    return rest if rest == code else rest.rstrip("\n")


def _saved(exercise: Exercise) -> str:
    """The answer as it was last saved, "" where it is not to be found: what a cell emptied for the call has lost."""
    try:
        text = find_notebook(exercise).read_bytes().decode("utf-8")
        cell = find_cell(text, exercise.id)
    except (GraderError, OSError, ValueError):
        return ""
    return _without_calls(cell.source) if cell is not None else ""


def _short(path: Path) -> str:
    """A path as seen from the lesson's folder."""
    return os.path.relpath(path) if path.is_absolute() else str(path)


def _directions(exercise: Exercise, stub: str) -> Card:
    call = f'restore("{exercise.id}")'
    define = f"{'class' if exercise.kind == 'function' else 'def'} {exercise.symbol}"
    texts = [
        f"Go to the cell with `{define}`, add `{call}` as its last line and run it. That cell, and nothing else, "
        "turns into the stub; your text is kept.",
        "If the cell raises an error, make the call its only line.",
        f"With the lesson closed, `grader restore {exercise.id}` in a terminal does the same.",
    ]
    folded = f'<details style="margin-top:.4em"><summary>The stub, to look at or copy</summary>{block(stub)}</details>'
    return message(f"{exercise.id}: one step more", texts, mood="hint", folded=folded)


def _shell() -> Any:
    """The notebook's or terminal's IPython, None in plain Python."""
    from IPython.core.getipython import get_ipython

    return get_ipython()
