"""A lesson opens without questions: a cell that is run before the kernel is there waits for it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.lab import NOTEBOOK
from tests.jupyterlab import Course


@pytest.mark.parametrize(
    ("slow", "lesson"),
    [
        ("/api/kernels", "04_gradcheck.ipynb"),
        pytest.param("/api/kernelspecs", "02_relu.ipynb", marks=pytest.mark.slow),
        pytest.param("/api/sessions", "03_straight_through.ipynb", marks=pytest.mark.slow),
    ],
)
def test_a_cell_that_is_run_before_the_kernel_is_there(page: Page, course: Course, slow: str, lesson: str) -> None:
    def late(route: Route) -> None:
        page.wait_for_timeout(2000)
        route.continue_()

    page.route(re.compile(re.escape(slow) + r"(\?|$)"), late)
    page.goto(f"{course.lesson(lesson)}&reset", wait_until="commit")
    cell = page.locator(f"{NOTEBOOK} .jp-CodeCell").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    expect(cell.locator(".jp-InputPrompt")).to_have_text(re.compile(r"^\[\d+\]:$"))
    assert page.locator(".jp-Dialog").count() == 0
    page.unroute_all(behavior="ignoreErrors")  # JupyterLab asks again and again
