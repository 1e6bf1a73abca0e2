"""A PostgreSQL server for tests: in a folder of its own, behind a socket there, ended with the test."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["programs", "server"]


def programs() -> Path | None:
    """Where initdb and pg_ctl are: on PATH, or where Debian puts them."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((place for place in places if (place / "initdb").exists()), None)


@contextmanager
def server(bin_folder: Path) -> Iterator[str]:
    """Start a server; gives the address of a database, with {name} in it, which `createdb` has to make."""
    place = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path is short, and another user must reach it
    user = pwd.getpwuid(os.geteuid()).pw_name
    if os.geteuid() == 0:  # the server refuses to run as root
        user = "postgres"
        shutil.chown(place, user)

    def run(program: str, *words: str) -> None:
        command = [str(bin_folder / program), *words]
        if os.geteuid() == 0:
            command = ["runuser", "-u", user, "--", *command]
        subprocess.run(command, check=True, cwd=place, stdout=subprocess.DEVNULL, timeout=120)

    data, options = str(place / "data"), f"-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off"
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "grader", "--no-sync")
        run("pg_ctl", "-D", data, "-w", "-l", str(place / "log"), "-o", options, "start")
        try:
            yield f"postgresql+psycopg://grader@/{{name}}?host={place}"
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(place, ignore_errors=True)
