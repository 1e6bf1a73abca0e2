"""A running hub and the people on it: each with a browser of their own, who log in, look at pages and press buttons.

Their requests carry the cookies of their browser, as those of the pages' own scripts do.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import APIResponse, Browser, Page

from tests.hub.machine import REPOSITORY, Machine

__all__ = ["Hub", "Person", "hub"]

CONFIG = REPOSITORY / "examples" / "hub" / "jupyterhub_config.py"
PATIENCE = 120_000  # ms


@dataclass(frozen=True)
class Person:
    """Somebody logged in, with their server running."""

    name: str
    url: str
    page: Page

    def ask(self, path: str, data: Any = None, *, method: str | None = None) -> APIResponse:
        """A request to a server by its path from the hub's root; with `data` a POST of it as JSON."""
        cookies = self.page.context.cookies(f"{self.url}/{path}")
        tokens = [cookie["value"] for cookie in cookies if cookie["name"] == "_xsrf" and cookie["path"] != "/hub/"]
        return self.page.context.request.fetch(
            f"{self.url}/{path}",
            method=method or ("GET" if data is None else "POST"),
            data=None if data is None else json.dumps(data),
            headers={"Content-Type": "application/json", "X-XSRFToken": next(iter(tokens), "")},
            timeout=PATIENCE,
        )

    def own(self, path: str, data: Any = None, *, method: str | None = None) -> Any:
        """The answer of their own server, read as JSON. AssertionError when it is no success."""
        answer = self.ask(f"user/{self.name}/{path}", data, method=method)
        assert answer.ok, f"{self.name}: {path}: {answer.status} {answer.text()[:2000]}"
        told = answer.json()
        assert not isinstance(told, dict) or told.get("success", True), f"{self.name}: {path}: {told}"
        return told

    def log(self, path: str) -> str:
        """The log of an action of the formgrader."""
        told: str = self.own(f"formgrader/api/{path}", {})["log"]
        return told


@dataclass(frozen=True)
class Hub:
    """A hub that answers at `url`."""

    url: str
    browser: Browser

    def log_in(self, name: str, password: str) -> Person:
        """Log in by the form; the server is started, and JupyterLab shown."""
        page = self.browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(f"{self.url}/hub/login")
        page.fill("#username_input", name)
        page.fill("#password_input", password)
        page.click("#login_submit")
        page.wait_for_url(f"**/user/{name}/lab**")
        return Person(name, self.url, page)


@contextmanager
def hub(machine: Machine, browser: Browser, log: Path) -> Iterator[Hub]:
    """Start JupyterHub with the settings of examples/hub; only its ports differ."""
    public, inner, proxy = _free_ports(3)
    ports = [
        f"--JupyterHub.bind_url=http://127.0.0.1:{public}",
        f"--JupyterHub.hub_bind_url=http://127.0.0.1:{inner}",
        f"--ConfigurableHTTPProxy.api_url=http://127.0.0.1:{proxy}",
    ]
    machine.run("install", "-d", "-m", "0700", "/srv/jupyterhub")
    words = [sys.executable, "-m", "jupyterhub", "-f", str(CONFIG), *ports]
    with log.open("w") as file:
        process = subprocess.Popen(machine.command(words, cwd="/srv/jupyterhub"), stdout=file, stderr=file)
    try:
        while not _answers(public):
            assert process.poll() is None, f"the hub ended:\n{log.read_text()}"
            time.sleep(0.2)
        yield Hub(f"http://127.0.0.1:{public}", browser)
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    """Whether the hub is there; its proxy answers for it before."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/hub/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports
