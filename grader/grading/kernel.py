"""The few Linux calls that Python's `os` lacks, through ctypes. Every failure is an OSError that names the call.

Nothing here is loaded on import, so that the module can be imported anywhere.
"""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

__all__ = ["Prctl", "drop_capabilities", "mount", "prctl", "syscall", "unshare"]


class Prctl:
    """Options of prctl(2), as in linux/prctl.h."""

    SET_PDEATHSIG = 1
    SET_DUMPABLE = 4
    SET_SECCOMP = 22
    SET_NO_NEW_PRIVS = 38


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(name: str, result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def syscall(number: int, *args: Any, name: str) -> int:
    """The system call `number`; integers are passed as C longs, ctypes objects as they are."""
    plain = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(name, int(_libc().syscall(ctypes.c_long(number), *plain)))


def prctl(option: int, *args: Any) -> int:
    """prctl(2) with its unused arguments zero, as the kernel demands of newer options."""
    plain = [ctypes.c_ulong(arg) if isinstance(arg, int) else arg for arg in args]
    plain += [ctypes.c_ulong(0)] * (4 - len(plain))
    return _checked(f"prctl({option})", int(_libc().prctl(ctypes.c_int(option), *plain)))


def unshare(flags: int) -> None:
    """unshare(2): leave the shared namespaces named by `flags` (CLONE_NEW...)."""
    _checked("unshare", _libc().unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    texts = [text.encode() or None for text in (source, target, kind)]
    result = _libc().mount(*texts, ctypes.c_ulong(flags), data.encode() or None)
    _checked(f"mount {target}", int(result))


def drop_capabilities() -> None:
    """Give up every capability of this thread: permitted, effective and inheritable."""
    version_3, this_thread = 0x20080522, 0
    header = (ctypes.c_uint32 * 2)(version_3, this_thread)
    nothing = (ctypes.c_uint32 * 6)()
    _checked("capset", int(_libc().capset(header, nothing)))
