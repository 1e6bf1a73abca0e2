"""The command line of bubblewrap: a new root that holds what Python needs, read-only, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from grader.grading.level import Level
from grader.grading.readable import PACKAGE, STUDENT_SIDE, SYSTEM, SYSTEM_FILES, python_paths

__all__ = ["wrapping"]

_ISOLATION = (
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
)


def wrapping(program: str, level: Level, readable: Sequence[Path]) -> list[str]:
    """`program` (bwrap) and its options, to be followed by the command to wrap."""
    paths = python_paths()
    brought_along = _of_system(PACKAGE) or any(PACKAGE.is_relative_to(path) for path in paths)
    return [
        program,
        *_ISOLATION,
        *_user(level),
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
        *_parents((*paths, *STUDENT_SIDE, *readable, *SYSTEM_FILES)),
        *_system(),
        *_pairs("--ro-bind", paths),
        *_package(hide=brought_along),
        *_pairs("--ro-bind", readable),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"),
        "--",
    ]


def _user(level: Level) -> list[str]:
    """As root, stay root of the machine's own user namespace, for nobody else may become nobody; else get one."""
    if os.geteuid() != 0:
        return []  # bubblewrap sees to it, or is set-user-ID
    if not level.nobody:
        return ["--unshare-user", "--cap-drop", "ALL", "--cap-add", "CAP_SETFCAP"]  # to map root once more
    needed = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL")  # to make nobody of a child, and to end it
    return ["--cap-drop", "ALL", *(word for capability in needed for word in ("--cap-add", capability))]


def _system() -> list[str]:
    found: list[str] = []
    for path in SYSTEM:
        if path.is_symlink():
            found += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            found += ["--ro-bind", str(path), str(path)]
    return found + _pairs("--ro-bind", [path for path in SYSTEM_FILES if path.exists()])


def _parents(paths: Sequence[Path]) -> list[str]:
    """Folders on the way, made here because bubblewrap would make them for its own user only."""
    folders = {folder for path in paths for folder in path.parents if folder != Path("/")}
    return [word for folder in sorted(folders) if not _of_system(folder) for word in ("--dir", str(folder))]


def _of_system(folder: Path) -> bool:
    return any(folder.is_relative_to(path) for path in SYSTEM)


def _package(*, hide: bool) -> list[str]:
    """Of this package the student's side only; `hide` what a folder of installed packages brought along."""
    visible = _pairs("--ro-bind", [path for path in STUDENT_SIDE if path.exists()])
    if not hide:
        return visible
    return ["--tmpfs", str(PACKAGE), *visible, "--remount-ro", str(PACKAGE)]


def _pairs(option: str, paths: Sequence[Path]) -> list[str]:
    return [word for path in paths for word in (option, str(path), str(path))]
