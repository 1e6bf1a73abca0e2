"""What hostile code attempts; `did` is what it got. At level "none" each works, or it would prove nothing."""

from __future__ import annotations

import re

from grader.grading.syscalls import ARCHITECTURES, NUMBERS, this_machine

_SYSCALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*args):
    result = libc.syscall(*args)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""

# Each of these must end in an exception at every level but "none".
FORBIDDEN = {
    "connect to a server on this machine": """
import socket
did = socket.create_connection(("127.0.0.1", @PORT@), timeout=5).getpeername()[0]
""",
    "send a datagram": """
import socket
did = socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("127.0.0.1", @PORT@))
""",
    "connect to a local socket by its path": """
import socket
socket.socket(socket.AF_UNIX).connect("@FOLDER@/socket")
""",
    "connect to a local socket by its abstract name": """
import os, socket
socket.socket(socket.AF_UNIX).connect("\\0" + os.path.basename("@FOLDER@"))
""",
    "read the gradebook": "did = open('@FOLDER@/gradebook.db').read()",
    "read the gradebook of a class in /tmp": "did = open('@IN_TMP@/gradebook.db').read()",
    "read the gradebook through the root of another process": """
did = open("/proc/@VICTIM@/root@FOLDER@/gradebook.db").read()
""",
    "list the class folder": "import os; did = os.listdir('@FOLDER@')",
    "write the gradebook": "did = open('@FOLDER@/gradebook.db', 'a').write('')",
    "empty the gradebook": "import os; os.truncate('@FOLDER@/gradebook.db', 16)",
    "empty the gradebook by opening it": """
import os
os.open("@FOLDER@/spare", os.O_RDONLY | os.O_TRUNC)
""",
    "remove a file of the class": "import os; os.rename('@FOLDER@/gradebook.db', '@FOLDER@/gradebook.db')",
    "make the gradebook everyone's": "import os; os.chmod('@FOLDER@/gradebook.db', 0o600)",
    "change the gradebook's times": "import os; os.utime('@FOLDER@/gradebook.db')",
    "link the gradebook into the private folder": "import os; os.symlink('@FOLDER@', 'x'); did = os.listdir('x/')",
    "write beside the class": "did = open('/var/tmp/' + str(@PORT@), 'w').write('left behind')",
    "read the secret in another process's environment": """
did = open("/proc/@VICTIM@/environ").read()
assert "the-class-secret" in did, did
""",
    "see another process": "did = open('/proc/@VICTIM@/comm').read()",
    "signal another process": "import os; os.kill(@VICTIM@, 0)",
    "signal another process's thread": _SYSCALL + "call({tgkill}, @VICTIM@, @VICTIM@, 0)",
    "limit another process": "import resource; did = resource.prlimit(@VICTIM@, resource.RLIMIT_CORE)",
    "read another process's memory": """
maps = open("/proc/@VICTIM@/maps").readline()
with open("/proc/@VICTIM@/mem", "rb") as memory:
    memory.seek(int(maps.split("-")[0], 16))
    did = len(memory.read(64))
""",
    "make shared memory that stays": _SYSCALL + "libc.shmctl(call({shmget}, 0, 4096, 0o600), 0, None)",
    "read the references": "from grader.exercises import catalogue; did = len(catalogue())",
    "read the tolerances": "import grader, os; did = open(os.path.dirname(grader.__file__) + '/battery.py').read(9)",
}

# Refused at every level; at "none" some need more rights than an ordinary user has.
REFUSED_CALLS = {
    "trace": ("ptrace", 0, 0, 0, 0),
    "unshare a namespace": ("unshare", 0x10000000),
    "clone into a namespace": ("clone", 0x10000011, 0, 0, 0, 0),
    "mount": ("mount", 0, 0, 0, 0, 0),
    "io_uring": ("io_uring_setup", 1, 0),
    "use the kernel's key rings": ("keyctl", 0, -4, 1),
    "bpf": ("bpf", 0, 0, 0),
    "perf": ("perf_event_open", 0, 0, -1, -1, 0),
    "kexec": ("kexec_load", 0, 0, 0, 0),
    "uncounted memory": ("memfd_create", 0, 0),
    "outlive the keeper": ("prctl", 1, 0, 0, 0, 0),
    "open a network socket": ("socket", 2, 1, 0),
    "open a raw network socket": ("socket", 16, 3, 0),
    "read by handle": ("open_by_handle_at", 0, 0, 0),
}

REFUSED = {
    name: _SYSCALL + f"call({{{call}}}, {', '.join(map(str, arguments))})"
    for name, (call, *arguments) in REFUSED_CALLS.items()
}


def numbered(code: str) -> str:
    """`code` with {name} replaced by the number of that system call on this machine."""
    column = ARCHITECTURES[this_machine() or "x86_64"][1]
    return re.sub(r"\{(\w+)\}", lambda match: str(NUMBERS[match[1]][column]), code)
