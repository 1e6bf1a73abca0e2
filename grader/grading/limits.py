"""What one submission may use, and how the kernel is told: setrlimit(2)."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

__all__ = ["Limits", "apply"]

MIB = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Limits of one submission; bytes and seconds.

    memory        address space beyond what the warm process had already mapped
    disk          all files in the private folder together (where it is a tmpfs), and any one file
    processes     processes and threads at a time; 0: none but the first, though it may still have threads
    cpu_seconds   processor time of each process; None: only the grading run's own clock
    open_files    file descriptors of each process
    """

    memory: int = 2048 * MIB
    disk: int = 128 * MIB
    processes: int = 0
    cpu_seconds: int | None = None
    open_files: int = 256


def apply(limits: Limits, *, count_processes: bool) -> None:
    """Hold this process and its children to `limits`.

    `count_processes` is False where the kernel would count the user's processes elsewhere too.
    """
    assert resource is not None  # confined children are forked, so this is no Windows
    wanted = {
        "RLIMIT_AS": _mapped() + limits.memory,
        "RLIMIT_FSIZE": limits.disk,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
    }
    if limits.cpu_seconds is not None:
        wanted["RLIMIT_CPU"] = limits.cpu_seconds
    if count_processes:
        wanted["RLIMIT_NPROC"] = max(1, limits.processes)
    for name, value in wanted.items():
        with contextlib.suppress(OSError, ValueError, AttributeError):  # lower already, or not on this system
            number = getattr(resource, name)
            _, hard = resource.getrlimit(number)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(number, (value, value))


def _mapped() -> int:
    """Bytes of address space that this process has mapped, 0 if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
