"""One exercise without a mouse, from opening the lesson to passing it; and progress that outlives kernel and page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import grader.exercises
from tests.browser.lab import NOTEBOOK, OUTPUTS, cell_with, choose, open_lesson, ready, retype, run, save
from tests.jupyterlab import Course

pytestmark = pytest.mark.browser

LESSON = "00_start_here.ipynb"
WRONG = """\
class Double(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 2 + 0 * grad_output
"""
RIGHT = WRONG.replace("2 + 0 * grad_output", "2 * grad_output")
ACTIVE = f"{NOTEBOOK} .jp-Cell.jp-mod-active"


def go_to(page: Page, text: str, key: str = "ArrowDown") -> Locator:
    """Arrow keys, as in command mode, until the active cell holds this text."""
    active = page.locator(ACTIVE)
    for _ in range(80):
        if text in active.locator(".jp-Cell-inputWrapper").inner_text():
            return active
        before = active.get_attribute("data-windowed-list-index")
        page.keyboard.press(key)
        expect(active).not_to_have_attribute("data-windowed-list-index", before or "")
    raise AssertionError(f"the arrow keys reach no cell with {text!r}")


def run_active(page: Page) -> Locator:
    """Ctrl + Enter; the outputs of the active cell, when it has run."""
    prompt = page.locator(f"{ACTIVE} .jp-InputPrompt")
    before = prompt.inner_text()
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before)
    expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"))
    return page.locator(f"{ACTIVE} {OUTPUTS}")


def answer(page: Page, text: str) -> None:
    """Enter to edit, all of it replaced, run, and back to command mode with Escape."""
    page.keyboard.press("Enter")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)
    run_active(page)
    page.keyboard.press("Escape")


def tab_to(page: Page, wanted: Locator) -> None:
    for _ in range(60):
        if wanted.evaluate("element => element === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError("Tab does not reach it")


def test_one_exercise_without_a_mouse(page: Page, course: Course) -> None:
    double = grader.exercises.get("double")
    open_lesson(page, course.lesson(LESSON))
    go_to(page, "Start here", "ArrowUp")
    go_to(page, "from grader import check")
    run_active(page)

    go_to(page, "class Double")
    answer(page, WRONG)
    go_to(page, 'check("double", Double)')
    report = run_active(page).first
    mistake = next(m for m in double.misconceptions if m.id == "no_upstream")
    expect(report).to_contain_text(mistake.sentence)

    tab_to(page, report.locator("summary", has_text="checks passed"))
    page.keyboard.press("Space")  # Enter is JupyterLab's own: it edits the cell
    expect(report.get_by_text("forward_nonfinite")).to_be_visible()
    page.keyboard.press("Escape")
    go_to(page, 'hint("double")')
    expect(run_active(page).first).to_contain_text("Hint 1 of 3 for double")

    go_to(page, "class Double", "ArrowUp")
    answer(page, RIGHT)
    go_to(page, 'check("double", Double)')
    expect(run_active(page).first).to_contain_text(f"right, {double.points} of {double.points} points")
    go_to(page, "progress()")
    expect(run_active(page).first).to_contain_text("1 of 29 exercises passed")


def test_progress_outlives_the_kernel_and_the_page(page: Page, course: Course) -> None:
    open_lesson(page, course.lesson(LESSON))
    cell = cell_with(page, "import torch")
    imports = "import torch\nfrom grader import check, progress\nfrom torch.autograd import Function"
    retype(page, cell, f"{imports}\n\n{RIGHT}\ncheck('double', Double)")
    expect(run(page, cell).first).to_contain_text("right")
    choose(page, "Kernel", "Restart Kernel…")
    page.keyboard.press("Enter")
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    save(page)
    page.reload()
    ready(page)
    expect(cell_with(page, "import torch").locator(OUTPUTS).first).to_contain_text("right")
    cell = cell_with(page, "import torch")
    retype(page, cell, "import torch\nfrom grader import progress\nprogress()")
    expect(run(page, cell).first).to_contain_text("1 of 29 exercises passed")
