"""What every test stands on: quiet threads, a place of its own for whatever the package keeps in files, one browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Set before torch is imported: with a test process on every core, more threads each only take turns.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some libraries draw; none of the tests has a screen.
os.environ.setdefault("MPLBACKEND", "agg")

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = [
    "--no-sandbox",  # the tests may run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A browser, one for all; without one the test is skipped, or fails where CI=true has promised one."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        message = "no Chromium on PATH (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright  # most tests need none

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def pictures() -> Path | None:
    """Where to leave screenshots to look at, if BROWSER_PICTURES names a folder."""
    folder = os.environ.get("BROWSER_PICTURES")
    return Path(folder) if folder else None
