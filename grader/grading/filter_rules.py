"""Which system calls student code may not make, and why: the rules of the seccomp filter.

What the namespaces or Landlock already prevent is refused here too; what only they prevent is refused where they
are missing. Numbers of options are those of the kernel's public headers.
"""

from __future__ import annotations

import errno
import socket

from grader.grading.seccomp import Rule

__all__ = ["rules"]


def _words(text: str) -> list[str]:
    return text.split()


# Other processes' memory, kernel code, mounts, clocks, devices: nothing an answer to an exercise needs.
_NEVER = _words("""
    ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp process_madvise process_mrelease
    add_key request_key keyctl
    mount umount2 pivot_root chroot move_mount open_tree open_tree_attr fsopen fsconfig fsmount fspick mount_setattr
    unshare setns
    kexec_load kexec_file_load init_module finit_module delete_module reboot bpf perf_event_open userfaultfd
    io_uring_setup io_uring_enter io_uring_register
    swapon swapoff syslog acct quotactl quotactl_fd sethostname setdomainname vhangup personality
    settimeofday clock_settime adjtimex clock_adjtime
    iopl ioperm modify_ldt
    name_to_handle_at open_by_handle_at fanotify_init
    move_pages migrate_pages
""")
# Memory that RLIMIT_AS does not count, or that outlives the process.
_UNCOUNTED_MEMORY = _words("memfd_create memfd_secret shmget semget msgget mq_open")
# Landlock leaves owners, modes, times and attributes alone. Without a read-only root they are refused by name.
_METADATA = _words("""
    chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat file_setattr
""")

_CLONE_THREAD = 0x00010000
_CLONE_NEW_NAMESPACE = 0x7E020080  # time, mount, cgroup, uts, ipc, user, pid, net
_SET_PDEATHSIG = 1
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
_FILE_FLAGS = (0x40086602, 0x401C5820)  # FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR
_IO_SIGNAL_TO = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP
_OWN_SIGNALS = (8, 15, 10)  # F_SETOWN, F_SETOWN_EX, F_SETSIG
_O_ACCMODE, _O_TRUNC = 0o3, 0o1000


def rules(
    *,
    own_pids: bool,
    read_only_root: bool,
    processes: bool,
    landlock_truncates: bool,
    unix_sockets: bool,
    pid: int,
) -> list[Rule]:
    """The filter for a child, given what else confines it.

    own_pids            it is in a process id namespace of its own, so no pid it can name is another's
    read_only_root      every mount but its private folder is read-only
    processes           it may start processes (they end with its namespace)
    landlock_truncates  Landlock restricts truncation (ABI 3)
    unix_sockets        local sockets are harmless: nothing listens where it can reach
    pid                 its own process id
    """
    found = [Rule(call) for call in (*_NEVER, *_UNCOUNTED_MEMORY)]
    found += _sockets(unix_sockets) + _starting_processes(processes)
    # The keeper's death must end the child: the signal that does it cannot be switched off.
    found += [Rule("prctl", "in", 0, (_SET_PDEATHSIG,)), Rule("ioctl", "in", 1, _TERMINAL_INPUT)]
    if not own_pids:
        found += _only_itself(pid)
    if not read_only_root:
        found += [Rule(call) for call in _METADATA] + [Rule("ioctl", "in", 1, _FILE_FLAGS)]
        if not landlock_truncates:
            found += _truncation()
    return found


def _sockets(unix: bool) -> list[Rule]:
    local = (int(socket.AF_UNIX),)
    pair = Rule("socketpair", "not in", 0, local)
    return [pair, Rule("socket", "not in", 0, local) if unix else Rule("socket")]


def _starting_processes(allowed: bool) -> list[Rule]:
    # The flags of clone3 lie behind a pointer that a filter cannot follow: "no such call" makes libc use clone.
    found = [Rule("clone3", error=errno.ENOSYS), Rule("clone", "any bit", 0, (_CLONE_NEW_NAMESPACE,))]
    if not allowed:
        found += [Rule("fork"), Rule("vfork"), Rule("clone", "no bit", 0, (_CLONE_THREAD,))]
    return found


def _only_itself(pid: int) -> list[Rule]:
    """No signal, limit or priority for any process but `pid` (0 means the caller, for the calls that take it)."""
    me = (0, pid)
    found = [Rule(call, "not in", 0, (pid,)) for call in ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo")]
    found += [Rule(call) for call in ("tkill", "pidfd_open", "pidfd_send_signal", "setpriority", "ioprio_set")]
    limits = ("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
    found += [Rule(call, "not in", 0, me) for call in limits]
    return [*found, Rule("fcntl", "in", 1, _OWN_SIGNALS), Rule("ioctl", "in", 1, _IO_SIGNAL_TO)]


def _truncation() -> list[Rule]:
    """Old Landlock lets a file that may be read be cut, and any file be opened for neither reading nor writing."""
    found = [Rule("truncate"), Rule("openat2", error=errno.ENOSYS)]
    for call, flags in (("open", 1), ("openat", 2)):
        found.append(Rule(call, "exactly", flags, (_O_TRUNC | _O_ACCMODE, _O_TRUNC)))
        found.append(Rule(call, "exactly", flags, (_O_ACCMODE, _O_ACCMODE)))
    return found
