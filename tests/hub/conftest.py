"""A hub for the tests: a machine of its own, accounts, a class and JupyterHub with the shipped settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.hub.machine import Machine, machine, what_is_missing
from tests.hub.people import Hub, hub

STUDENTS = ("ada", "bo", "cy")
CLASS = "/home/teacher/autograd"
EXCHANGE = "/srv/nbgrader/exchange"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine set up by the steps of docs/deployments.md. Skipped, or failed where CI=true, without what it needs."""
    missing = what_is_missing()
    if missing and os.environ.get("CI") == "true":
        pytest.fail(missing)
    if missing:
        pytest.skip(missing)
    with machine(tmp_path_factory.mktemp("machine")) as made:
        made.run("groupadd", "autograd")
        for name in ("teacher", "assistant", *STUDENTS):
            made.add_user(name, f"password of {name}", group="autograd")
        _can_be_read(made)
        made.run("install", "-d", "-m", "1777", EXCHANGE)
        made.run(sys.executable, "-m", "grader", "new-class", "autograd", "--exchange", EXCHANGE, user="teacher")
        yield made


@pytest.fixture(scope="module")
def running(server: Machine, chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """The hub, running."""
    log: Path = tmp_path_factory.mktemp("hub") / "log"
    with hub(server, chromium, log) as started:
        yield started


def _can_be_read(made: Machine) -> None:
    """The folders on the way have been opened; the files must be readable by others by their own modes."""
    try:
        made.run(sys.executable, "-c", "import grader.cli, jupyterhub, nbgrader, torch", user=STUDENTS[0])
    except AssertionError as error:
        pytest.fail(f"ordinary users cannot read the Python, its packages or the clone (chmod -R o+rX them):\n{error}")
