"""A machine of its own to run a hub on: accounts, homes, /etc, /srv and processes that end with it.

It is this machine seen through namespaces of its own. `useradd` writes into a copy of /etc; homes lie in memory. A
folder that only root may enter, but that holds the Python under test or the clone, can be entered by all, with nothing
in it but what is needed. The kernel ends its processes and forgets its folders when the test ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Machine", "machine", "what_is_missing"]

NEEDED = {  # program: what to install for it
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "useradd": "passwd",
    "chpasswd": "passwd",
    "configurable-http-proxy": "it with: npm install -g configurable-http-proxy@5.1.0",
}
NAMESPACES = ["unshare", "--mount", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]
REPOSITORY = Path(__file__).resolve().parents[2]

# In the new namespaces, as root. $1 is an empty folder; then come closed folders, and what is needed in them.
SETUP = r"""
set -eu
work=$1; shift
mount --make-rprivate /
mount -t tmpfs -o mode=700 tmpfs "$work"
mkdir "$work/kept"
number=0
for path in "$@"; do case $path in closed:*) ;; *)
    number=$((number + 1))
    if [ -d "$path" ]; then mkdir "$work/kept/$number"; else : > "$work/kept/$number"; fi
    mount --bind "$path" "$work/kept/$number"
esac; done
for path in "$@"; do case $path in closed:*) mount -t tmpfs -o mode=755 tmpfs "${path#closed:}" ;; esac; done
number=0
for path in "$@"; do case $path in closed:*) ;; *)
    number=$((number + 1))
    if [ -d "$work/kept/$number" ]; then mkdir -p "$path"; else mkdir -p "$(dirname "$path")"; : > "$path"; fi
    mount --bind "$work/kept/$number" "$path"
esac; done
cp -a /etc "$work/etc"
mount --bind "$work/etc" /etc
for place in /home /srv; do mount -t tmpfs -o mode=755 tmpfs $place; done
echo ready
exec cat >/dev/null  # until the test closes our stdin, or ends
"""


def what_is_missing() -> str | None:
    """What this machine lacks to run the tests of the hub, in words; None if nothing."""
    if sys.platform != "linux":
        return "the hub's tests need Linux"
    if os.geteuid() != 0:
        return "only root can make the accounts and namespaces of a hub: run these tests with sudo"
    for program, package in NEEDED.items():
        if shutil.which(program) is None:
            return f"there is no {program}: install {package}"
    if find_spec("jupyterhub") is None:
        return "there is no jupyterhub: pip install -c constraints.txt -e '.[dev]'"
    tried = subprocess.run([*NAMESPACES, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        return (
            f"this machine's root may not make namespaces ({tried.stderr.strip()}): run the tests outside the container"
        )
    return None


@dataclass(frozen=True)
class Machine:
    """The machine; `pid` is its first process."""

    pid: int

    def command(self, words: Sequence[str], *, user: str = "root", cwd: str | None = None) -> list[str]:
        """The words to run from outside, so that they run in the machine as `user`, in `cwd` (default: their home)."""
        inside = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--"]
        home = "/root" if user == "root" else f"/home/{user}"
        start = ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd or home]
        if user == "root":
            return [*inside, *start, *words]
        clean = ["env", "-i", f"HOME={home}", f"USER={user}", f"PATH={os.environ['PATH']}", "OMP_NUM_THREADS=1"]
        return [*inside, "setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", *clean, *start, *words]

    def run(self, *words: str, user: str = "root", cwd: str | None = None, stdin: str = "") -> str:
        """Run to the end; stdout. AssertionError with stderr when it fails."""
        done = subprocess.run(
            self.command(words, user=user, cwd=cwd), input=stdin, capture_output=True, text=True, timeout=280
        )
        assert done.returncode == 0, f"{user}: {' '.join(words)}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def add_user(self, name: str, password: str, *, group: str) -> None:
        """An account as an administrator makes one."""
        self.run("useradd", "--create-home", "--shell=/bin/bash", f"--groups={group}", name)
        self.run("chpasswd", stdin=f"{name}:{password}\n")


@contextmanager
def machine(work: Path) -> Iterator[Machine]:
    """Start the machine; `work` is an empty folder. All of it ends with the block, or with this process."""
    command = [*NAMESPACES, "sh", "-c", SETUP, "sh", str(work), *_opened(_needed())]
    starter = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert starter.stdout is not None
    assert starter.stderr is not None
    try:
        if starter.stdout.readline() != "ready\n":
            raise AssertionError(f"the machine did not start: {starter.stderr.read()}")
        first = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
        yield Machine(int(first[0]))
    finally:
        starter.kill()  # --kill-child: the first process ends too, and with it all of its namespace
        starter.communicate()


def _needed() -> list[Path]:
    """What students' processes read of this machine beside the system: Python, its packages, the clone, the proxy."""
    found = {Path(entry).resolve() for entry in [*sys.path, sys.prefix, sys.base_prefix] if entry}
    found |= {Path(sys.prefix), Path(sys.executable), REPOSITORY}
    for program in ("configurable-http-proxy", "node"):
        place = shutil.which(program)
        if place is not None:
            found |= {Path(place).parent, _whole_package(Path(place).resolve())}
    return sorted(path for path in found if path.exists())


def _whole_package(program: Path) -> Path:
    """A program with what it is installed with: for one of npm's, the outermost node_modules."""
    return next((folder for folder in reversed(program.parents) if folder.name == "node_modules"), program.parent)


def _opened(needed: Sequence[Path]) -> list[str]:
    """Arguments of SETUP: folders that only root may enter, and what is needed in them."""
    pairs = {path: closed for path in needed if (closed := _closed(path)) is not None}
    inside = {path for path in pairs if not any(other in path.parents for other in pairs)}
    return [*(f"closed:{folder}" for folder in sorted({pairs[path] for path in inside})), *map(str, sorted(inside))]


def _closed(path: Path) -> Path | None:
    """The first folder on the way to `path` that others may not enter."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)
