"""An explorer in a real JupyterLab, moved by keyboard alone; what is saved shows the picture without a kernel."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import cell_with, open_lesson, run
from tests.jupyterlab import Course

pytestmark = pytest.mark.browser

SETTINGS = ".grader/jupyter/config/lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"


def test_a_slider_is_moved_by_keyboard_and_the_picture_follows(
    page: Page, course: Course, pictures: Path | None
) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    cell = cell_with(page, "explore_kink()")
    run(page, cell)
    picture = cell.locator("img")
    expect(picture).to_have_attribute("alt", re.compile("y = torch.relu.* at 0 .*autograd gives 0"))
    before = picture.get_attribute("src")

    cell.get_by_role("button", name="torch.relu(x)").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(picture).to_have_attribute("alt", re.compile(r"y = torch.maximum.* at 0 .*autograd gives 0.5"))
    for _ in range(6):  # past the other buttons
        page.keyboard.press("Tab")
    expect(cell.get_by_role("slider")).to_be_focused()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(picture).to_have_attribute("alt", re.compile(r"slope 1 through its point at x = 0.3"))
    assert picture.get_attribute("src") != before
    expect(picture).to_have_count(1)  # in place of the last one, not below it
    expect(cell.get_by_role("slider")).to_be_focused()
    expect(cell.locator("[data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)

    page.keyboard.press("Control+s")
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current.jp-mod-dirty")).to_have_count(0)
    saved = json.loads((course.folder / "02_relu.ipynb").read_text(encoding="utf-8"))
    (shown,) = [c for c in saved["cells"] if "explore_kink()" in "".join(c["source"])]
    assert "x = 0.3" in "".join(shown["outputs"][1]["data"]["text/plain"])
    assert shown["outputs"][1]["data"]["image/png"]
    if pictures:
        cell.screenshot(path=pictures / "explorer-light.png")
        page.set_viewport_size({"width": 620, "height": 900})
        page.wait_for_timeout(500)
        cell.screenshot(path=pictures / "explorer-narrow.png")


EXPLORERS = {
    "01_contract.ipynb": "explore_vjp()",
    "02_relu.ipynb": "explore_kink()",
    "03_straight_through.ipynb": "explore_ste()",
    "04_gradcheck.ipynb": "explore_differences()",
}


def test_pictures_on_a_dark_page(page: Page, course: Course, pictures: Path | None) -> None:
    """For looking at, with BROWSER_PICTURES; what can be tested of it: they are there, with their alt text."""
    settings = course.folder / SETTINGS
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"theme": "JupyterLab Dark"}), encoding="utf-8")
    try:
        for lesson, call in EXPLORERS.items():
            open_lesson(page, course.lesson(lesson))
            expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
            cell = cell_with(page, call)
            run(page, cell)
            expect(cell.locator("img")).to_have_attribute("alt", re.compile(r"\w+ \w+"))
            if pictures:
                cell.screenshot(path=pictures / f"explorer-dark-{lesson[:2]}.png")
    finally:
        settings.unlink()
