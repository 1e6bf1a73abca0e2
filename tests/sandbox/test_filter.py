"""The system call filter: numbers as in the system's headers, decisions by running the program for both machines."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import pytest

from grader.grading.filter_rules import rules
from grader.grading.seccomp import Instruction, Rule, assemble
from grader.grading.syscalls import ARCHITECTURES, NUMBERS

ALLOWED, KILLED = "allowed", "killed"
X86_64, AARCH64 = "x86_64", "aarch64"
HEADERS = {X86_64: "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", AARCH64: "/usr/include/asm-generic/unistd.h"}


def decision(program: list[Instruction], architecture: int, number: int, *arguments: int) -> str | int:
    """What the kernel would do: a classic BPF machine, as socket filters have it (an errno, or one of the words)."""
    data = {0: number, 4: architecture}
    for k, argument in enumerate((*arguments, 0, 0, 0, 0, 0, 0)[:6]):
        data |= {16 + 8 * k: argument & 0xFFFFFFFF, 20 + 8 * k: argument >> 32}
    register, at = 0, 0
    while True:
        operation, yes, no, constant = program[at]
        at += 1
        match operation:
            case 0x20:
                register = data[constant]
            case 0x54:
                register &= constant
            case 0x15 | 0x35 | 0x45:
                met = {0x15: register == constant, 0x35: register >= constant, 0x45: bool(register & constant)}
                at += yes if met[operation] else no
            case 0x06:
                return {0x7FFF0000: ALLOWED, 0x80000000: KILLED}.get(constant, constant & 0xFFFF)


def decide(found: list[Rule], machine: str, call: str, *arguments: int) -> str | int:
    architecture, column = ARCHITECTURES[machine]
    number = NUMBERS[call][column]
    assert number is not None
    return decision(assemble(found, machine), architecture, number, *arguments)


def child(**changes: bool) -> list[Rule]:
    """The rules of a child whose process id is 41, confined by nothing else unless said."""
    facts = dict.fromkeys(("own_pids", "read_only_root", "processes", "landlock_truncates", "unix_sockets"), False)
    return rules(**(facts | changes), pid=41)


@pytest.mark.parametrize("machine", HEADERS)
def test_numbers_are_those_of_the_headers(machine: str) -> None:
    header = Path(HEADERS[machine])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    stated = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)$", header.read_text(), re.MULTILINE))
    column = ARCHITECTURES[machine][1]
    ours = {call: numbers[column] for call, numbers in NUMBERS.items()}
    both = {call for call in ours if call in stated}
    assert len(both) > 90
    assert {call: ours[call] for call in both} == {call: int(stated[call]) for call in both}


MACHINES = pytest.mark.parametrize("machine", ARCHITECTURES)


@MACHINES
def test_an_unnamed_call_is_allowed_and_foreign_code_killed(machine: str) -> None:
    program, (architecture, _) = assemble(child(), machine), ARCHITECTURES[machine]
    read = {X86_64: 0, AARCH64: 63}[machine]
    assert decision(program, architecture, read, 0, 0, 0) == ALLOWED
    assert decision(program, 0x40000003, read) == KILLED  # 32-bit x86, whose numbers mean other calls


def test_x32_twins_do_not_slip_through() -> None:
    assert decision(assemble(child(), X86_64), 0xC000003E, 0x40000000 + 101) == errno.ENOSYS


@MACHINES
def test_processes_only_where_they_may_be_started_threads_always(machine: str) -> None:
    thread, process = 0x3D0F00, 0x1200011
    assert decide(child(processes=True), machine, "clone", process) == ALLOWED
    assert decide(child(), machine, "clone", process) == errno.EPERM
    assert decide(child(), machine, "clone", thread) == ALLOWED
    for namespace in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80):
        assert decide(child(processes=True), machine, "clone", process | namespace) == errno.EPERM
    assert decide(child(), machine, "clone3") == errno.ENOSYS


@MACHINES
def test_signals_reach_only_itself_unless_process_ids_are_its_own(machine: str) -> None:
    for call in ("kill", "tgkill", "rt_sigqueueinfo"):
        assert decide(child(), machine, call, 41, 41) == ALLOWED
        assert [decide(child(), machine, call, pid, 9) for pid in (1, 40, 0, 2**32 - 1)] == [errno.EPERM] * 4
        assert decide(child(own_pids=True), machine, call, 1, 9) == ALLOWED
    assert decide(child(), machine, "prlimit64", 0) == ALLOWED
    assert decide(child(), machine, "prlimit64", 40) == errno.EPERM


@MACHINES
def test_sockets_are_local_or_none(machine: str) -> None:
    unix, internet = 1, 2
    assert decide(child(), machine, "socket", unix) == errno.EPERM
    assert decide(child(unix_sockets=True), machine, "socket", unix) == ALLOWED
    assert decide(child(unix_sockets=True), machine, "socket", internet) == errno.EPERM
    assert decide(child(), machine, "socketpair", unix) == ALLOWED
    assert decide(child(), machine, "socketpair", internet) == errno.EPERM


@MACHINES
def test_where_landlock_cannot_prevent_it_truncation_by_opening_is_refused(machine: str) -> None:
    read_truncate, write_truncate, neither, close_on_exec = 0o1000, 0o1001, 0o3, 0o2000000
    strict = child()
    assert decide(strict, machine, "openat", 0, 0, read_truncate | close_on_exec) == errno.EPERM
    assert decide(strict, machine, "openat", 0, 0, neither) == errno.EPERM
    assert decide(strict, machine, "openat", 0, 0, write_truncate | close_on_exec) == ALLOWED
    assert decide(strict, machine, "openat", 0, 0, close_on_exec) == ALLOWED
    assert decide(strict, machine, "truncate") == errno.EPERM
    assert decide(child(landlock_truncates=True), machine, "openat", 0, 0, read_truncate) == ALLOWED


@MACHINES
def test_owners_modes_and_times_are_left_to_a_read_only_root(machine: str) -> None:
    for call in ("fchmod", "fchmodat", "fchownat", "utimensat", "setxattr"):
        assert decide(child(), machine, call) == errno.EPERM
        assert decide(child(read_only_root=True), machine, call) == ALLOWED
