"""The place where attacks are tried: lessons with marked hidden tests, a folder for loot, a private file, a server."""

from __future__ import annotations

import contextlib
import secrets
import socketserver
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from grader.attacks.attack import LESSON, Field

__all__ = ["Marks", "Server", "attacked_lessons", "laid_out", "listening"]

END = "### END HIDDEN TESTS"


@dataclass(frozen=True)
class Marks:
    """Random words; where one turns up, what it stands for was read."""

    tests: str = field(default_factory=lambda: secrets.token_hex(16))
    private: str = field(default_factory=lambda: secrets.token_hex(16))


def attacked_lessons(marks: Marks) -> dict[str, NotebookNode]:
    """The instructor's notebook of the attacked lesson, with a mark in each hidden test."""
    from grader.lessons import instructor_notebook, lesson_path

    notebook = instructor_notebook(lesson_path(LESSON))
    for cell in notebook.cells:
        cell.source = cell.source.replace(f"\n{END}", f"  # {marks.tests}\n{END}")
    return {LESSON: notebook}


def laid_out(root: Path, klass: Path, marks: Marks, port: int) -> Field:
    """The folder for loot and the private file, made in `root`, for attacks on the class in `klass`."""
    loot, private = root / "loot", root / "private.txt"
    loot.mkdir(parents=True)
    loot.chmod(0o777)
    private.write_text(marks.private + "\n")
    return Field(klass, loot, private, port)


@dataclass
class Server:
    """What has connected so far, by the names they sent."""

    port: int
    visitors: set[str] = field(default_factory=set)


@contextlib.contextmanager
def listening() -> Iterator[Server]:
    """A server on this machine, reachable from this machine, that notes who calls."""
    server = Server(0)

    class Note(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(5.0)
            with contextlib.suppress(OSError):
                server.visitors.add(self.rfile.readline(200).decode(errors="replace").strip())

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Note) as tcp:
        tcp.daemon_threads = True
        server.port = tcp.server_address[1]
        thread = threading.Thread(target=tcp.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            tcp.shutdown()
            thread.join()
