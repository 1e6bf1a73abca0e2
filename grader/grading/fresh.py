"""A fresh process for each submission, where the system cannot fork: Windows. No sandbox, so only with --unsafe.

    trusted process <--loopback, with a token--> python -m grader.grading.fresh
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from typing import NoReturn

from grader.errors import GraderError
from grader.grading.channel import Channel
from grader.grading.wire import FROM_HOST

__all__ = ["Fresh"]

_START_SECONDS = 120.0
_TOKEN = "GRADER_TOKEN"


class Fresh:
    """A submission's process, from the trusted side."""

    def __init__(self) -> None:
        token = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(_START_SECONDS)
            self.program = subprocess.Popen(
                [sys.executable, "-P", "-m", "grader.grading.fresh", str(server.getsockname()[1])],
                env=_environment() | {_TOKEN: token},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self.socket = self._accepted(server, token)

    def _accepted(self, server: socket.socket, token: str) -> socket.socket:
        """The connection of our own process, which shows the token; whoever else connects is turned away."""
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                self.program.kill()
                raise GraderError("the process of a submission did not start. Run: grader doctor") from None
            connection.settimeout(5.0)
            try:
                if secrets.compare_digest(connection.recv(len(token), socket.MSG_WAITALL), token.encode()):
                    return connection
            except OSError:
                pass
            connection.close()

    def channel(self) -> Channel:
        return Channel(self.socket, FROM_HOST)

    def end(self, *, ended_itself: bool) -> str:
        """End it; how it ended, in words, where it did so by itself."""
        try:
            code = self.program.wait(0.5 if ended_itself else 0.0)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()
            return ""
        return f"it ended itself with exit code {code}"


def _environment() -> dict[str, str]:
    """The environment, without what belongs to the class."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GRADER_")}
    return kept | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}


def main(port: int, token: str) -> NoReturn:
    """Connect, show the token, and serve in a working folder of its own."""
    import tempfile

    from grader.grading.host import serve

    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(token.encode())
    with tempfile.TemporaryDirectory(prefix="grader-", ignore_cleanup_errors=True) as folder:
        os.chdir(folder)
        serve(connection)
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), os.environ.pop(_TOKEN))
