"""The learner's folder: their own copy of the lessons, which no update of the course ever overwrites.

`seed` copies lessons in and brings untouched ones up to date. "Untouched" is judged by what a learner writes,
the text of the cells: running a lesson (outputs, execution counts) does not make it theirs. What was handed
out is remembered in `.grader/lessons.json` beside the lessons.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from grader.errors import GraderError

__all__ = ["DEFAULT_FOLDER", "Seeding", "find_lessons", "fingerprint", "last_worked_in", "resolve", "seed", "write"]

DEFAULT_FOLDER = "my-course"
_STATE = Path(".grader") / "lessons.json"


@dataclass(slots=True)
class Seeding:
    """What `seed` did, as names below the folder; `beside` maps an edited lesson to its new version."""

    added: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)


def find_lessons() -> Path:
    """The folder of student notebooks: inside an installed package, or `notebooks/` of the checkout.

    Raises GraderError when neither holds a lesson.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if any(folder.glob("*.ipynb")):
            return folder
    raise GraderError(
        f"No lessons found beside the package in {package}.\n"
        "Likely cause: a checkout whose notebooks/ was emptied, or a copy of the package alone.\n"
        "Run `make notebooks` in the checkout, or install the course again: pip install ."
    )


def resolve(folder: Path | None) -> Path:
    """The learner's folder: the one asked for, the current one if it is such a folder, or `my-course`."""
    if folder is not None:
        return folder.expanduser().absolute()
    here = Path.cwd()
    return here if (here / _STATE).is_file() else here / DEFAULT_FOLDER


def fingerprint(content: bytes, *, name: str) -> str:
    """Hash of what a person writes in a file: a notebook's cell types and text, any other file's bytes.

    A notebook that cannot be read is hashed as bytes, so it counts as edited and is left alone.
    """
    if name.endswith(".ipynb"):
        try:
            cells = json.loads(content)["cells"]
            text = [[cell["cell_type"], "".join(cell["source"])] for cell in cells]
            content = json.dumps(text, ensure_ascii=True).encode()
        except (ValueError, KeyError, TypeError):
            pass
    return hashlib.sha256(content).hexdigest()


def seed(folder: Path, *, lessons: Path) -> Seeding:
    """Bring `folder` up to date with the lessons in `lessons` without losing a word of the learner's.

    A lesson that is missing is added, an untouched one is refreshed, an edited one is kept: if the course has
    a newer version of it, that is put beside it under a new name. Raises GraderError if the folder is not
    writable.
    """
    done = Seeding()
    try:
        handed_out = _read_state(folder)
        for source in sorted(path for path in lessons.rglob("*") if path.is_file()):
            relative = source.relative_to(lessons)
            if not any(part.startswith(".") for part in relative.parts):
                name = relative.as_posix()
                handed_out[name] = _seed_one(folder / name, source, handed_out.get(name), done, name=name)
        _write_state(folder, handed_out)
    except OSError as error:
        raise GraderError(
            f"Cannot write the course folder {folder}: {error.strerror or error}.\n"
            "Likely cause: no permission there, a file of that name, or a full disk.\n"
            "Name a folder of your own: grader learn FOLDER"
        ) from error
    return done


def last_worked_in(folder: Path, *, lessons: Path) -> str | None:
    """The name of the notebook in `folder` that was saved last, None if none differs from what was handed out.

    Running a cell is enough: its output is saved. A lesson that was only brought up to date does not count.
    """
    released = {path.read_bytes() for path in lessons.glob("*.ipynb")}
    worked = [path for path in folder.glob("*.ipynb") if path.read_bytes() not in released]
    return max(worked, key=lambda path: path.stat().st_mtime_ns).name if worked else None


def _seed_one(target: Path, source: Path, handed_out: str | None, done: Seeding, *, name: str) -> str:
    """Place one lesson or picture; returns the fingerprint to remember as handed out."""
    content = source.read_bytes()
    new = fingerprint(content, name=name)
    if not target.exists():
        write(target, content)
        done.added.append(name)
        return new
    theirs = fingerprint(target.read_bytes(), name=name)
    if theirs == new:
        return new
    if theirs == handed_out:
        write(target, content)
        done.refreshed.append(name)
        return new
    done.kept.append(name)
    if handed_out != new:
        spare = _free_name(target)
        write(spare, content)
        done.beside[name] = spare.name
    return new


def _free_name(target: Path) -> Path:
    """`02_relu.new.ipynb`, or `.new-2`, `.new-3`: an earlier new version may hold work by now."""
    number = 1
    while True:
        spare = target.with_name(f"{target.stem}.new{f'-{number}' if number > 1 else ''}{target.suffix}")
        if not spare.exists():
            return spare
        number += 1


def _read_state(folder: Path) -> dict[str, str]:
    try:
        state = json.loads((folder / _STATE).read_bytes())
        return {str(name): str(value) for name, value in state["handed_out"].items()}
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return {}  # without a record every lesson that differs counts as edited, so nothing is lost


def _write_state(folder: Path, handed_out: dict[str, str]) -> None:
    text = json.dumps({"handed_out": handed_out}, indent=1, sort_keys=True) + "\n"
    write(folder / _STATE, text.encode())


def write(path: Path, content: bytes) -> None:
    """Write in one step, so that a kill or a full disk leaves the old file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
