"""Which paths the sandboxed process may read: what Python needs to run, and no more of any home folder.

Of this package only the student's side: references, tolerances, hidden tests and the classroom's code stay out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from grader.errors import GraderError

__all__ = ["PACKAGE", "STUDENT_SIDE", "SYSTEM", "SYSTEM_FILES", "python_paths", "without"]

PACKAGE = Path(__file__).resolve().parent.parent
# What a process that runs student code imports of this package; a test starts Python in the sandbox and imports all.
STUDENT_SIDE = tuple(
    PACKAGE / name
    for name in (
        "__init__.py",
        "errors.py",
        "grading",
        "guard.py",
        "local.py",
        "subject.py",
        "tracing.py",
    )
)
# Programs and libraries of the system: the same on every machine, no one's own.
SYSTEM = tuple(Path(p) for p in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"))
SYSTEM_FILES = tuple(
    Path(p)
    for p in (
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/alternatives",
        "/etc/localtime",
        "/etc/nsswitch.conf",
        "/sys/devices/system/cpu",
        "/sys/devices/system/node",
    )
)


def python_paths() -> list[Path]:
    """Folders and files outside the system's that this Python and its packages are made of.

    The real prefixes, the site folders in use, every hop of the interpreter's chain of links, and the folders of
    LD_LIBRARY_PATH. Raises GraderError when a prefix holds the user's home.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    folders = [Path(p) for p in prefixes]
    folders += [Path(p) for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
    folders += [Path(p) for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if p.startswith("/")]
    found = [*folders, *(folder.resolve() for folder in folders), *_hops(Path(sys.executable))]
    for path in found:
        _refuse_home(path)
    return _outermost(path for path in found if path.exists())


def without(folder: Path, hidden: Path) -> list[Path]:
    """What is left of `folder`, as whole paths, when `hidden` is taken out."""
    if folder == hidden:
        return []
    if folder not in hidden.parents:
        return [folder]
    return [part for entry in sorted(folder.iterdir()) for part in without(entry, hidden)]


def _hops(path: Path) -> list[Path]:
    """`path` and every link on the way to the file it names."""
    found = [path]
    while path.is_symlink() and len(found) < 20:
        path = Path(os.path.normpath(path.parent / path.readlink()))
        found.append(path)
    return found


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """`paths` less those below another of them or below the system's folders, sorted."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(outer) for outer in (*SYSTEM, *kept)):
            kept.append(path)
    return kept


def _refuse_home(path: Path) -> None:
    home = Path.home().resolve()
    if home.is_relative_to(path) and path not in SYSTEM and home != Path("/") and home.exists():
        raise GraderError(
            f"This Python lives in {path}, which holds your home folder {home}: student code could read all of it.\n"
            "Install the course in a virtual environment of its own: python3 -m venv .venv"
        )
