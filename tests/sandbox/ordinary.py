"""Run a command as the user nobody, from root: `python ordinary.py COMMAND...`; the tests' ordinary user.

Python may live in root's home, which nobody may not enter. So, in a mount namespace of its own, each closed folder on
the way is replaced by an open one that shows the needed folders only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from grader.grading.kernel import mount, unshare
from grader.grading.namespaces import become_nobody
from grader.grading.readable import PACKAGE, python_paths

_NEW_MOUNTS, _PRIVATE_BELOW, _BIND_BELOW = 0x00020000, (1 << 14) | (1 << 18), 4096 | (1 << 14)


def _closed(path: Path) -> Path | None:
    """The outermost folder above `path` that not everyone may enter."""
    folders = [folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001]
    return folders[0] if folders else None


def main(argv: list[str]) -> None:
    """Open the way, become nobody, run."""
    needed = [*python_paths(), PACKAGE.parent]
    unshare(_NEW_MOUNTS)
    mount("none", "/", flags=_PRIVATE_BELOW)
    behind = [(path, closed, os.open(path, os.O_PATH)) for path in needed if (closed := _closed(path)) is not None]
    for closed in {closed for _, closed, _ in behind}:
        mount("tmpfs", str(closed), "tmpfs", data="mode=755")
    for path, _, handle in behind:
        path.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{handle}", str(path), flags=_BIND_BELOW)
    become_nobody()
    os.environ["HOME"] = "/nonexistent"
    os.chdir("/")
    os.execvp(argv[0], argv)


if __name__ == "__main__":
    main(sys.argv[1:])
