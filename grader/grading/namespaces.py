"""Namespaces of one submission's own: user, process ids, mounts and IPC, entered without any privilege.

Files in /tmp and /dev/shm, processes and IPC objects then end with the submission, whatever it did.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from grader.grading.kernel import Prctl, mount, prctl, unshare

__all__ = ["NOBODY", "become_nobody", "furnish", "unshare_all"]

NOBODY = 65534
_NEW_MOUNTS, _NEW_IPC, _NEW_USER, _NEW_PIDS = 0x00020000, 0x08000000, 0x10000000, 0x20000000
_READ_ONLY, _NO_SUID, _NO_DEVICES, _NO_EXEC, _REMOUNT, _BIND = 1, 2, 4, 8, 32, 4096
_RECURSIVE, _PRIVATE = 1 << 14, 1 << 18
_LOCKED = _NO_SUID | _NO_DEVICES | _NO_EXEC | 1024 | 2048  # a remount must repeat these (also noatime, nodiratime)

_STATIC = ("cpuinfo", "meminfo", "stat", "loadavg", "version")


def become_nobody() -> None:
    """From root to the user and group nobody. Raises OSError without the right to."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    prctl(Prctl.SET_DUMPABLE, 1)  # the change of user made /proc/self root's, and the id maps are written there


def unshare_all() -> None:
    """Leave the user, mount and IPC namespaces; the next child is the first of new process ids.

    The process keeps its own numeric user and group. Raises OSError where the kernel or the container forbids it.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(_NEW_USER | _NEW_MOUNTS | _NEW_IPC | _NEW_PIDS)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def furnish(*, disk: int, readable: Iterable[Path], apart: bool) -> Path:
    """In the first process of the namespaces: private /tmp and /dev/shm of `disk` bytes, own /proc.

    Paths of `readable` below /tmp stay where they are, read-only. Returns the private folder: /tmp, or with `apart` a
    folder in it that holds none of those.
    """
    private = Path("/tmp")
    mount("none", "/", flags=_RECURSIVE | _PRIVATE)
    kept = [(path, os.open(path, os.O_PATH)) for path in readable if path.is_relative_to(private) and path.exists()]
    _tmpfs(private, disk)
    for path, handle in kept:
        _bind(handle, path)
        os.close(handle)
    if Path("/dev/shm").is_dir():
        _tmpfs(Path("/dev/shm"), disk // 2)
    _own_proc()
    if kept and apart:
        private = private / "work"
        private.mkdir()
    return private


def _tmpfs(path: Path, size: int) -> None:
    mount("tmpfs", str(path), "tmpfs", _NO_SUID | _NO_DEVICES, f"size={size},nr_inodes=4096,mode=0700")


def _bind(handle: int, path: Path) -> None:
    """Show what `handle` is open on at `path`, read-only."""
    source = f"/proc/self/fd/{handle}"
    if Path(source).is_dir():
        path.mkdir(parents=True, exist_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    mount(source, str(path), flags=_BIND | _RECURSIVE)
    inherited = os.statvfs(path).f_flag & _LOCKED
    mount("", str(path), flags=_BIND | _REMOUNT | _READ_ONLY | inherited)


def _own_proc() -> None:
    """/proc of the own process ids; where the kernel refuses one, a folder with the machine's static facts."""
    with contextlib.suppress(OSError):
        mount("proc", "/proc", "proc", _NO_SUID | _NO_DEVICES | _NO_EXEC)
        return
    facts = {name: _read(Path("/proc", name)) for name in _STATIC}
    _tmpfs(Path("/proc"), 1 << 20)
    for name, text in facts.items():
        Path("/proc", name).write_bytes(text)
    os.chmod("/proc", 0o555)
    mount("", "/proc", flags=_REMOUNT | _BIND | _READ_ONLY | _NO_SUID | _NO_DEVICES)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
