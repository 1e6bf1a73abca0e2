"""The system's Chromium, driven through playwright, on a course that a real `grader learn` serves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.jupyterlab import Course, serving

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

PATIENCE = 90_000  # ms: a busy machine is slow to start a kernel; nothing here measures speed
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A browser; without one the test is skipped, or fails where CI=true has promised one."""
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        message = "no Chromium on PATH (Debian: apt install chromium)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def course(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """The course as a learner has it served: a new folder, an empty home, nothing done yet. One for each module."""
    with serving(tmp_path_factory.mktemp("learner") / "my course") as served:
        yield served


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    yield page
    context.close()


@pytest.fixture
def pictures() -> Path | None:
    """Where to leave screenshots to look at, if BROWSER_PICTURES names a folder."""
    folder = os.environ.get("BROWSER_PICTURES")
    return Path(folder) if folder else None
