"""Run pieces of student code at a level, in a world with things worth stealing: `python runner.py < request > answer`.

The request is JSON: {"level": text, "limits": {...}, "codes": {name: code}}. Each piece runs in a child of its own,
one after the other; the answer has, by name, what it left in `did` or the exception it ended with, and how its process
ended. Runs as whichever user it is started as, so that the world belongs to that user.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.grading.sandbox import Level, command

SECRET = "the-class-secret"

DRIVER = """
import json, os, sys
from grader.grading.confine import confine_child
from grader.grading.level import Level
from grader.grading.limits import Limits

level, answers = Level.from_text(sys.argv[1]), {}
secret_pipe = os.pipe()
limits, codes = json.loads(sys.argv[2]), json.loads(sys.argv[3])
for name, code in codes.items():
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            private = confine_child(level, keep_fds=[write], limits=Limits(**limits))
            space = {"private": str(private)}
            exec(code, space)
            answer = {"did": space.get("did", "ran to the end")}
        except BaseException as error:
            answer = {"error": type(error).__name__, "text": str(error)}
        os.write(write, json.dumps(answer).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answers[name] = {**(json.loads(told) if told else {}), "status": status}
print(json.dumps(answers))
"""


@contextlib.contextmanager
def world() -> Iterator[dict[str, str]]:
    """A class folder with a secret, servers that accept, and another process of the same user; by name."""
    folder = Path(tempfile.mkdtemp(prefix="class-", dir="/var/tmp"))
    in_tmp = Path(tempfile.mkdtemp(prefix="class-", dir="/tmp"))
    for place in (folder, in_tmp):
        (place / "gradebook.db").write_text(SECRET)
        (place / "spare").write_text("kept")
    with contextlib.ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (f"{folder}/socket", f"\0{folder.name}"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(address)
            server.listen()
        victim = stack.enter_context(subprocess.Popen(["sleep", "120"], env={"GRADER_CLASS_SECRET": SECRET}))
        stack.callback(victim.kill)
        names = {
            "folder": str(folder),
            "in_tmp": str(in_tmp),
            "port": str(tcp.getsockname()[1]),
            "victim": str(victim.pid),
        }
        yield names
    Path("/var/tmp", names["port"]).unlink(missing_ok=True)  # what one attempt leaves where nothing hinders it
    shutil.rmtree(folder)
    shutil.rmtree(in_tmp)


def run(level: Level, codes: dict[str, str], limits: dict[str, int]) -> dict[str, Any]:
    """What became of each piece of code; names in capitals between @ signs are the world's."""
    with world() as names:
        for name, value in names.items():
            codes = {key: code.replace(f"@{name.upper()}@", value) for key, code in codes.items()}
        argv = [sys.executable, "-c", DRIVER, level.as_text(), json.dumps(limits), json.dumps(codes)]
        done = subprocess.run(
            command(level, argv), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{level.describe()} did not start: {done.stderr}")
        answers: dict[str, Any] = json.loads(done.stdout)
        for place in ("folder", "in_tmp"):
            answers[f"contents {place}"] = [Path(names[place], name).read_text() for name in ("gradebook.db", "spare")]
            answers[f"files {place}"] = sorted(os.listdir(names[place]))
        return answers


if __name__ == "__main__":
    request = json.load(sys.stdin)
    print(json.dumps(run(Level.from_text(request["level"]), request["codes"], request["limits"])))
