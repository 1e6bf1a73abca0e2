"""Landlock: which files this process and its children may still open, without any privilege.

Linux 5.13 and later. The kernel states what it can restrict as a number, the ABI; what an older one lacks is left
out here and made up for by seccomp (grader/grading/filter_rules.py), or by the namespaces.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from pathlib import Path

from grader.grading.kernel import Prctl, prctl, syscall

__all__ = ["abi", "restrict"]

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = (1 << bit for bit in range(4))
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
# All rights over files up to each ABI: 1 had bits 0-12, 2 added linking across folders, 3 truncation, 5 device ioctls.
_KNOWN = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP_BIND_AND_CONNECT = 0b11  # ABI 4
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11  # ABI 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def abi() -> int:
    """The Landlock ABI of this kernel, 0 where there is none (or it is switched off)."""
    ask_version = 1
    try:
        return syscall(_CREATE_RULESET, None, 0, ask_version, name="landlock_create_ruleset")
    except OSError:
        return 0


def restrict(
    *,
    read: Iterable[Path] = (),
    list_only: Iterable[Path] = (),
    write: Iterable[Path] = (),
    devices: Iterable[Path] = (),
) -> None:
    """From now on: read and execute below `read`, do everything below `write`, read and write `devices`.

    `list_only` may be listed, not read. No TCP, and no signal or abstract socket to a process outside, where the
    kernel can restrict those. Paths that do not exist are skipped. Sets no_new_privs. Raises OSError.
    """
    version = abi()
    known = _KNOWN[max(1, min(version, 5))]
    wanted = _Ruleset(known, _TCP_BIND_AND_CONNECT * (version >= 4), _ABSTRACT_SOCKETS_AND_SIGNALS * (version >= 6))
    ruleset = syscall(_CREATE_RULESET, ctypes.byref(wanted), ctypes.sizeof(wanted), 0, name="landlock_create_ruleset")
    try:
        reading = _EXECUTE | _READ_FILE | _READ_DIR
        everything = known & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
        _allow(ruleset, read, reading)
        _allow(ruleset, list_only, _READ_DIR)
        _allow(ruleset, write, everything)
        _allow(ruleset, devices, known & (_READ_FILE | _WRITE_FILE | _TRUNCATE))
        prctl(Prctl.SET_NO_NEW_PRIVS, 1)
        syscall(_RESTRICT_SELF, ruleset, 0, name="landlock_restrict_self")
    finally:
        os.close(ruleset)


def _allow(ruleset: int, paths: Iterable[Path], rights: int) -> None:
    for path in paths:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # not there, or not for this user
            continue
        try:
            allowed = rights if path.is_dir() else rights & _OF_FILES
            rule = _PathBeneath(allowed, handle)
            syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0, name=f"landlock rule for {path}")
        finally:
            os.close(handle)
