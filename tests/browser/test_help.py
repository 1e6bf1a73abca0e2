"""A learner who needs help, in a browser: hints, a stub put back, the solution, progress that follows and lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import NOTEBOOK, cell_with, open_lesson, retype, run, run_all_above
from tests.browser.test_learner import NO_UPSTREAM, RIGHT
from tests.jupyterlab import Course

pytestmark = pytest.mark.browser

CHECK, STRIP = 'check("relu", MyReLU)', 'progress("02_relu")'


def test_wrong_hint_right_solution_and_the_strip_follows(page: Page, course: Course, pictures: Path | None) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    run_all_above(page, cell_with(page, "class MyReLU"))
    retype(page, cell_with(page, "class MyReLU"), NO_UPSTREAM)
    run(page, cell_with(page, "class MyReLU"))
    run(page, cell_with(page, CHECK))
    expect(cell_with(page, STRIP).locator(".jp-OutputArea-output")).to_contain_text("0 of 5 passed")

    retype(page, cell_with(page, STRIP), 'hint("relu")  # or not')
    hint = run(page, cell_with(page, "# or not"))
    expect(hint.first).to_contain_text("Hint 1 of 3")
    retype(page, cell_with(page, "# or not"), STRIP)
    run(page, cell_with(page, STRIP))

    retype(page, cell_with(page, "class MyReLU"), RIGHT)
    run(page, cell_with(page, "class MyReLU"))
    run(page, cell_with(page, CHECK))
    strip = cell_with(page, STRIP).locator(".jp-OutputArea-output")
    expect(strip).to_contain_text("1 of 5 passed")
    expect(strip).to_contain_text("Next: leaky_relu")

    retype(page, cell_with(page, STRIP), 'solution("relu")')
    shown = run(page, cell_with(page, 'solution("relu")'))
    expect(shown.first).to_contain_text("three right ways")
    expect(shown.first).to_contain_text("Your MyReLU keeps")
    if pictures:
        page.screenshot(path=pictures / "solution.png")

    retype(page, cell_with(page, 'solution("relu")'), "progress()")
    run(page, cell_with(page, "progress()"))
    page.keyboard.press("Control+s")
    open_lesson(page, course.lesson("00_start_here.ipynb"))
    again = run_again(page, "progress()")
    expect(again.first).to_contain_text("1 of 29 exercises passed")


def run_again(page: Page, text: str) -> Locator:
    """Run the cells from the top down to the one with this text, and it; its outputs."""
    run_all_above(page, cell_with(page, text))
    return run(page, cell_with(page, text))


def test_restore_changes_the_cell_it_is_run_in_with_no_dialog(
    page: Page, course: Course, pictures: Path | None
) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    run_all_above(page, cell_with(page, "class LeakyReLU"))
    mine = "class LeakyReLU(Function):\n    'my own words'\n\nrestore(\"leaky_relu\")"
    retype(page, cell_with(page, "class LeakyReLU"), mine)
    page.wait_for_timeout(1_000)  # what happens within half a second is one step for Ctrl+Z
    run(page, cell_with(page, "class LeakyReLU"))
    answer = cell_with(page, "class LeakyReLU")
    expect(answer.locator(".cm-content")).to_contain_text("raise NotImplementedError")
    expect(answer.locator(".jp-OutputArea-output")).to_contain_text("the stub is back in this cell")
    if pictures:
        page.screenshot(path=pictures / "restored.png")
    page.keyboard.press("Control+s")
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current.jp-mod-dirty")).to_have_count(0)
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    kept = (course.folder / ".grader" / "kept" / "leaky_relu-001.py").read_text(encoding="utf-8")
    assert "my own words" in kept
    assert "restore(" not in kept

    answer.locator(".cm-content").click()
    answer.locator(".cm-content").focus()  # the page may have moved below the click
    page.keyboard.press("Control+z")
    expect(cell_with(page, "class LeakyReLU").locator(".cm-content")).to_contain_text("my own words")
    assert page.locator(f"{NOTEBOOK} [data-mime-type='application/vnd.jupyter.stderr']").count() == 0
