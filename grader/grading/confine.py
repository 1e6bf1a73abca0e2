"""The inner half of the sandbox: what a freshly forked child does before it touches student code."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.grading import filter_rules, keeper, kernel, landlock, limits, namespaces, seccomp
from grader.grading.level import Level
from grader.grading.limits import Limits
from grader.grading.readable import PACKAGE, STUDENT_SIDE, SYSTEM, SYSTEM_FILES, python_paths, without

__all__ = ["confine_child"]

_DEVICES = tuple(Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom"))
_FACTS = tuple(Path("/proc", name) for name in ("cpuinfo", "meminfo", "stat", "self"))
_NPROC_PER_NAMESPACE = (5, 14)  # the Linux release that counts processes by user namespace


def confine_child(
    level: Level,
    *,
    keep_fds: Iterable[int] = (),
    readable: Sequence[Path] = (),
    limits: Limits = Limits(),  # noqa: B008 (immutable)
) -> Path:
    """Shut this process in, for good; call it right after the fork, while there is one thread.

    Returns the private folder, which is also the working folder, HOME and TMPDIR, and is gone when the process ends.
    Stdin reads as empty, file descriptors but 0 to 2 and `keep_fds` are closed, and what Popen got as pid is a keeper
    that ends with this process's own status. `readable` are further paths to read, the same as given to `command`.
    Raises OSError if any part fails: then end the process, run nothing.
    """
    os.umask(0o077)
    scratch = None
    if level.namespaces:
        if level.nobody:
            namespaces.become_nobody()
        namespaces.unshare_all()
    else:
        scratch = Path(tempfile.mkdtemp(prefix="grader-"))
    keeper.split(scratch)
    keeper.close_all_but(tuple(keep_fds))
    private = _limit_and_furnish(level, limits, readable, scratch)
    _settle_in(private)
    if level.name != "none":
        _lock(level, limits, readable, private)
    return private


def _limit_and_furnish(level: Level, wanted: Limits, readable: Sequence[Path], scratch: Path | None) -> Path:
    with contextlib.suppress(OSError):  # not on every system
        Path("/proc/self/oom_score_adj").write_text("1000")  # should memory run out, this process goes first
    limits.apply(wanted, count_processes=_may_start_processes(level, wanted))
    if scratch is not None:
        return scratch
    kept = [*python_paths(), *(path for path in STUDENT_SIDE if path.exists()), *readable]
    return namespaces.furnish(disk=wanted.disk, readable=kept, apart=not level.wrapped)


def _settle_in(private: Path) -> None:
    os.chdir(private)
    os.environ.update(HOME=str(private), TMPDIR=str(private))
    tempfile.tempdir = None
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def _lock(level: Level, wanted: Limits, readable: Sequence[Path], private: Path) -> None:
    kernel.drop_capabilities()
    kernel.prctl(kernel.Prctl.SET_NO_NEW_PRIVS, 1)
    if level.landlock:
        _restrict_files(level, readable, private)
    seccomp.install(
        filter_rules.rules(
            own_pids=level.namespaces,
            read_only_root=level.wrapped,
            processes=_may_start_processes(level, wanted),
            landlock_truncates=level.landlock >= 3,
            unix_sockets=level.wrapped and level.namespaces,
            pid=os.getpid(),
        )
    )


def _restrict_files(level: Level, readable: Sequence[Path], private: Path) -> None:
    if level.wrapped and level.namespaces:
        read = [Path("/")]  # all that is there
    else:
        read = [*_needed(readable), *([Path("/proc")] if level.namespaces else _FACTS)]
    shared_memory = [Path("/dev/shm")] if level.namespaces else []
    landlock.restrict(
        read=read,
        list_only=[PACKAGE],
        write=[private, *shared_memory],
        devices=_DEVICES,
    )


def _needed(readable: Sequence[Path]) -> list[Path]:
    parts = [part for path in (*SYSTEM, *python_paths()) if path.exists() for part in without(path, PACKAGE)]
    return [*parts, *STUDENT_SIDE, *SYSTEM_FILES, *readable]


def _may_start_processes(level: Level, wanted: Limits) -> bool:
    """Only where they end with the submission and the kernel counts them: it never counts root's."""
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    counted = release is not None and tuple(map(int, release.groups())) >= _NPROC_PER_NAMESPACE
    return sys.platform == "linux" and counted and level.namespaces and os.geteuid() != 0 and wanted.processes > 0
