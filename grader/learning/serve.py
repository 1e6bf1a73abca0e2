"""`grader learn`: the course in JupyterLab, on this machine or a remote one, opened where the learner left off.

The server runs in this process with settings of its own, kept in `.grader/jupyter` of the learner's folder:
nothing in the home folder is read or written, and JupyterLab asks no other host for news, updates or
extensions.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from grader.errors import GraderError
from grader.learning.workspace import Seeding, find_lessons, last_worked_in, resolve, seed

__all__ = ["addresses", "has_browser", "learn", "pick_port"]

_DEFAULT_PORT = 8888
_LOCAL = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::", "", "*")

_PATIENCE = Path(__file__).parent / "lab"  # our extension, and what it stands in for
_CELLS_ARE_RUN_BY = "@jupyterlab/notebook-extension:cell-executor"

# A learner's JupyterLab has no class to fetch from, nothing to update and no reason to ask the network.
_DISABLED_IN_LAB = (
    _CELLS_ARE_RUN_BY,
    "@jupyterlab/apputils-extension:announcements",
    "@jupyterlab/extensionmanager-extension",
    # Language servers: they would ask a server extension that is off.
    "@jupyterlab/fileeditor-extension:language-server",
    "@jupyterlab/lsp-extension",
    "@jupyterlab/notebook-extension:language-server",
    "@jupyter/nbgrader",
)
_DISABLED_IN_SERVER = (
    "jupyter_lsp",
    "nbgrader.server_extensions.assignment_list",
    "nbgrader.server_extensions.course_list",
    "nbgrader.server_extensions.formgrader",
    "nbgrader.server_extensions.validate_assignment",
)
# A shell inside another Jupyter, or a user's own set-up, must not change what is served.
_NOT_INHERITED = (
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_PATH",
    "JUPYTER_TOKEN",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)
_LAB_SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/apputils-extension:notification": {"checkForUpdates": False, "fetchNews": "false"},
    "@jupyterlab/docmanager-extension:plugin": {
        "autosaveInterval": 30,  # seconds; the default is 120
        # Milliseconds, 500 else: on a slow machine two saves at a time make it ask which version is the right one.
        "lastModifiedCheckMargin": 3000,
    },
}


def learn(
    folder: Path | None = None, *, port: int | None = None, ip: str = "localhost", browser: bool = True
) -> None:
    """Serve the course until it is stopped with Ctrl+C, which ends the process.

    `folder` holds the learner's own copies (default: `my-course` here). With `port` None the first free one
    from 8888 is taken. `browser` False never opens one; True opens one only where there is one to open.
    Raises GraderError when the port is taken, the address is not this machine's or the folder is not
    writable.
    """
    home = resolve(folder)
    _tell(seed(home, lessons=find_lessons()))
    asked, port = port, pick_port(ip, port)
    token = secrets.token_hex(16)
    first = last_worked_in(home, lessons=find_lessons()) or min(path.name for path in find_lessons().glob("*.ipynb"))
    retries = 50 if asked is None else 0  # another server may be quicker to take the port we found free
    server = _start(home, ip=ip, port=port, retries=retries, token=token, first=first)
    show = browser and has_browser(ip, os.environ)
    # The server takes its port in its loop's first callback; ours follows it: a printed address works at
    # once.
    server.io_loop.add_callback(_announce, home, ip=ip, port=server.port, token=token, first=first, show=show)
    _stop_on_interrupt(server)
    server.start()
    _leave()


def _stop_on_interrupt(server: Any) -> None:
    """Let Ctrl+C stop the kernels and then the server; a second one does not wait for that.

    Jupyter's own handler asks a question on a terminal, and without one leaves the kernels running.
    """

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        server.stop(from_signal=True)

    signal.signal(signal.SIGINT, stop)


def _leave() -> None:
    """End this process now: a worker thread that the server may leave behind would hold Python's own exit for ever."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def pick_port(ip: str, port: int | None) -> int:
    """The port asked for (0: any), or else the first free one from 8888; GraderError if there is none."""
    if port is not None:
        port = port or _any_port()
        problem = _why_not(ip, port)
        if problem:
            raise GraderError(
                f"Cannot serve on {ip or '*'}, port {port}: {problem}.\n"
                "Likely cause: another program has the port (an earlier `grader learn`?), "
                "or the address is not this machine's.\n"
                "Leave the port out to take a free one, or name another: grader learn --port 8890"
            )
        return port
    for candidate in range(_DEFAULT_PORT, _DEFAULT_PORT + 50):
        if _why_not(ip, candidate) is None:
            return candidate
    return pick_port(ip, 0)


def _any_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def _why_not(ip: str, port: int) -> str | None:
    """Why we cannot listen there, in the system's words, or None if we can."""
    try:
        host = None if ip in _EVERYWHERE else ip
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found[:1]:
            with socket.socket(family, kind, protocol) as probe:
                if os.name == "posix":  # as the server does: a port in TIME_WAIT is free
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except (OSError, OverflowError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def has_browser(ip: str, environ: Mapping[str, str]) -> bool:
    """Whether there is a browser in front of the person who started us: a local address, a screen, no ssh."""
    if ip not in _LOCAL or any(name in environ for name in ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")):
        return False
    screen = environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    if sys.platform not in ("darwin", "win32") and not screen:
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True


def addresses(ip: str, port: int, token: str, first: str) -> list[str]:
    """The addresses to open, best first: of this machine by name as well when we listen everywhere."""
    hosts = [ip]
    if ip in _EVERYWHERE:
        hosts = [socket.gethostname(), "localhost"]
    elif ":" in ip:
        hosts = [f"[{ip}]"]
    return [f"http://{host}:{port}/lab/tree/{quote(first)}?token={token}" for host in hosts]


def _tell(seeding: Seeding) -> None:
    """Say what became of the lessons, where there is something to say."""
    if seeding.refreshed:
        click.echo(f"Brought up to date (you had not edited them): {', '.join(seeding.refreshed)}")
    for lesson, beside in seeding.beside.items():
        click.echo(f"{lesson}: there is a newer version. Yours stays as it is; the new one is {beside}.")


def _announce(home: Path, *, ip: str, port: int, token: str, first: str, show: bool) -> None:
    """Print where the course is, and open it there if `show`."""
    urls = addresses(ip, port, token, first)
    click.echo(f"Your lessons: {home}")
    click.echo("Open in a browser:")
    for url in urls:
        click.echo(f"    {url}")
    if ip in _LOCAL and "SSH_CONNECTION" in os.environ:
        here = f"{os.environ.get('USER', 'you')}@{socket.gethostname()}"
        click.echo("You are logged in over ssh. To reach that address, run this on your own machine:")
        click.echo(f"    ssh -L {port}:localhost:{port} {here}")
    click.echo("Stop with Ctrl+C. Your work is saved as you go.")
    sys.stdout.flush()
    if show:
        threading.Thread(target=webbrowser.open, args=(urls[0],), daemon=True).start()


def _start(home: Path, *, ip: str, port: int, retries: int, token: str, first: str) -> Any:
    """A JupyterLab server (jupyter_server's ServerApp), listening but not yet answering."""
    _isolate(home / ".grader" / "jupyter")
    from jupyterlab.labapp import LabApp  # reads the environment set above
    from traitlets.config import Config

    config = Config()
    config.ServerApp = Config(
        ip="" if ip in _EVERYWHERE else ip,
        port=port,
        port_retries=retries,
        root_dir=str(home),
        open_browser=False,
        allow_root=hasattr(os, "geteuid") and os.geteuid() == 0,
        allow_remote_access=ip not in _LOCAL,
        jpserver_extensions={"jupyterlab": True, **dict.fromkeys(_DISABLED_IN_SERVER, False)},
        log_level="ERROR",
    )
    config.LabApp = Config(
        default_url=f"/lab/tree/{quote(first)}",
        extension_manager="readonly",
        news_url=None,
        check_for_updates_class="jupyterlab.NeverCheckForUpdate",
        log_level="ERROR",
    )
    config.IdentityProvider.token = token
    config.KernelManager.transport_encryption = "auto"  # other users of this machine cannot listen in
    return LabApp.initialize_server(argv=[], config=config)


def _kernel() -> dict[str, Any]:
    """The kernelspec of this very Python."""
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return {"argv": command, "display_name": "Python 3 (ipykernel)", "language": "python"}


def _isolate(settings: Path) -> None:
    """Point Jupyter, IPython and matplotlib at `settings`, and PATH and the kernel at this Python."""
    kernel = settings / "data" / "kernels" / "python3"  # the lessons' kernel, whatever else goes by that name
    kernel.mkdir(parents=True, exist_ok=True)
    (kernel / "kernel.json").write_text(json.dumps(_kernel(), indent=1), encoding="utf-8")
    extension = settings / "data" / "labextensions" / "custom-autograd-functions"
    (extension / "static").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_PATIENCE / "package.json", extension / "package.json")
    shutil.copyfile(_PATIENCE / "patience.js", extension / "static" / "patience.js")
    lab = settings / "config" / "labconfig"
    lab.mkdir(parents=True, exist_ok=True)
    disabled = {"disabledExtensions": dict.fromkeys(_DISABLED_IN_LAB, True)}
    (lab / "page_config.json").write_text(json.dumps(disabled, indent=1), encoding="utf-8")
    (lab / "default_setting_overrides.json").write_text(json.dumps(_LAB_SETTINGS, indent=1), encoding="utf-8")
    os.environ.update(
        JUPYTER_CONFIG_DIR=str(settings / "config"),
        JUPYTER_DATA_DIR=str(settings / "data"),
        JUPYTER_RUNTIME_DIR=str(settings / "runtime"),
        JUPYTER_PREFER_ENV_PATH="0",  # the folders named here come first
        IPYTHONDIR=str(settings / "ipython"),
        MPLCONFIGDIR=str(settings / "matplotlib"),
        PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    )
    for name in _NOT_INHERITED:
        os.environ.pop(name, None)
