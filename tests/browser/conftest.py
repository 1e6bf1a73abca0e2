"""The system's Chromium, driven through playwright, on a course that a real `grader learn` serves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.jupyterlab import Course, serving

PATIENCE = 90_000  # ms: a busy machine is slow to start a kernel; nothing here measures speed
expect.set_options(timeout=PATIENCE)


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
