"""Run as a student, in a process of their own: tries what must not work and tells what happened, as JSON.

stdin: a list of [verb, path]. stdout: for each, "done" or the reason why not.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

IN_CREATE = 0x100


def watch(path: str) -> None:
    """Be told the names of what others put into a folder."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.inotify_add_watch(libc.inotify_init(), path.encode(), IN_CREATE) < 0:
        raise OSError(ctypes.get_errno(), "inotify")


VERBS: dict[str, Callable[[str], object]] = {
    "read": lambda path: Path(path).read_bytes(),
    "list": os.listdir,
    "watch": watch,
    "change": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)),
    "move": lambda path: os.rename(path, path + "-moved"),
    "put into": lambda path: os.mkdir(os.path.join(path, "mine")),
}


def attempt(verb: str, path: str) -> str:
    try:
        VERBS[verb](path)
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


if __name__ == "__main__":
    json.dump([attempt(*words) for words in json.load(sys.stdin)], sys.stdout)
