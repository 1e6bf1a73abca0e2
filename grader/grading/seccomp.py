"""seccomp: a filter of system calls, assembled as classic BPF and installed for good, without any library.

Which calls are refused is said in filter_rules.py. Here: how a rule becomes instructions. A refused call fails with
an errno, so that student code gets an ordinary exception and not a dead process.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from grader.grading.kernel import Prctl, prctl
from grader.grading.syscalls import ARCHITECTURES, NUMBERS, this_machine

__all__ = ["Instruction", "Rule", "assemble", "install"]

Instruction = tuple[int, int, int, int]  # operation, jump if true, jump if false, constant

# Classic BPF (linux/filter.h) and the return values of linux/seccomp.h.
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000  # x86_64 kernels take the x32 twins of all calls under these numbers
_FILTER_MODE = 2


@dataclass(frozen=True)
class Rule:
    """What to do with one system call.

    when        "always" refuse; or by the low 32 bits of an argument: refuse when it is "in" or "not in" `values`,
                when it has "any bit" or "no bit" of values[0], or when its bits under values[0] are "exactly" values[1]
    argument    which argument, from 0
    error       the errno of a refused call
    """

    call: str
    when: Literal["always", "in", "not in", "any bit", "no bit", "exactly"] = "always"
    argument: int = 0
    values: Sequence[int] = ()
    error: int = errno.EPERM


def assemble(rules: Iterable[Rule], machine: str) -> list[Instruction]:
    """The filter of `rules` for "x86_64" or "aarch64": any call not named is allowed.

    The first rule that refuses decides. A process of another architecture (32-bit code) is killed.
    """
    architecture, column = ARCHITECTURES[machine]
    program: list[Instruction] = [
        (_LOAD, 0, 0, _AT_ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    if machine == "x86_64":
        program += [(_JUMP_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    for rule in rules:
        number = NUMBERS[rule.call][column]
        if number is not None:
            block = _block(rule)
            program += [(_JUMP_EQUAL, 0, len(block), number), *block]
    return [*program, (_RETURN, 0, 0, _ALLOW)]


def _block(rule: Rule) -> list[Instruction]:
    """Instructions for a call whose number is known to be the rule's; falls through when it is not refused."""
    refuse = (_RETURN, 0, 0, _ERRNO | rule.error)
    if rule.when == "always":
        return [refuse]
    load = (_LOAD, 0, 0, _AT_ARGUMENTS + 8 * rule.argument)  # both machines are little-endian: the low half first
    again = (_LOAD, 0, 0, _AT_NUMBER)  # for the rules that follow
    if rule.when in ("any bit", "no bit"):
        to_refuse, past = (0, 1) if rule.when == "any bit" else (1, 0)
        return [load, (_JUMP_ANY_BIT, to_refuse, past, rule.values[0]), refuse, again]
    if rule.when == "exactly":
        mask, value = rule.values
        return [load, (_AND, 0, 0, mask), (_JUMP_EQUAL, 0, 1, value), refuse, again]
    tests: list[Instruction] = []
    for left, value in zip(range(len(rule.values) - 1, -1, -1), rule.values, strict=True):
        hit = left + (1 if rule.when == "not in" else 0)  # over the tests left, and over `refuse` if that is not meant
        miss = 1 if rule.when == "in" and left == 0 else 0
        tests.append((_JUMP_EQUAL, hit, miss, value))
    return [load, *tests, refuse, again]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def install(rules: Iterable[Rule]) -> None:
    """Filter the system calls of this thread and of all that it starts from now on; cannot be undone.

    Raises OSError where the kernel has no seccomp filters or the machine is of another kind.
    """
    machine = this_machine()
    if machine is None:
        raise OSError(errno.ENOSYS, "the system call filter is written for x86_64 and aarch64 only")
    program = assemble(rules, machine)
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *one) for one in program))
    prctl(Prctl.SET_NO_NEW_PRIVS, 1)
    prctl(
        Prctl.SET_SECCOMP,
        _FILTER_MODE,
        ctypes.byref(_Program(len(program), ctypes.cast(code, ctypes.c_void_p))),
    )
