"""What a person does in JupyterLab, by what they see: cells by text, answers typed in, verdicts read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect

__all__ = [
    "NOTEBOOK",
    "OUTPUTS",
    "cell_with",
    "choose",
    "open_lesson",
    "ready",
    "retype",
    "run",
    "run_all",
    "run_all_above",
    "save",
    "theme",
    "walk",
]

# JupyterLab renders cells as they scroll into view, so look in the notebook that is on top only.
NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden)"
OUTPUTS = ".jp-OutputArea-output:not(:empty)"  # a first check leaves an empty one, where it said that it gets ready


def open_lesson(page: Page, url: str) -> None:
    """Open the address, with no other tab from before, and wait until it is shown and its kernel idle."""
    page.goto(f"{url}&reset")
    tab = page.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current")
    expect(tab).to_contain_text(PurePosixPath(urlsplit(url).path).name)
    ready(page)


def ready(page: Page) -> None:
    """Wait until a notebook is shown and its kernel idle."""
    page.wait_for_selector(f"{NOTEBOOK} .jp-Notebook .jp-Cell")
    # Idle is also what a notebook without a kernel is, in its first second; who runs a cell then is asked for one.
    expect(page.locator(f"{NOTEBOOK} .jp-KernelName")).to_contain_text("Python 3")
    expect(page.locator(f"{NOTEBOOK} .jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible()


def cell_with(page: Page, text: str) -> Locator:
    """The first code cell whose text holds `text`, scrolled into view."""
    cell = page.locator(f"{NOTEBOOK} .jp-CodeCell", has=page.locator(".cm-content", has_text=text)).first
    notebook = page.locator(f"{NOTEBOOK} .jp-WindowedPanel-outer")
    for _ in range(200):
        if cell.count():
            cell.scroll_into_view_if_needed()
            return cell
        notebook.hover()
        page.mouse.wheel(0, 500)
        page.wait_for_timeout(50)
    raise AssertionError(f"no cell with {text!r} in the notebook")


def retype(page: Page, cell: Locator, text: str) -> None:
    """Replace the whole text of a cell, as with select all and paste."""
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def run(page: Page, cell: Locator) -> Locator:
    """Run one cell with the keyboard and wait until its number has moved on; returns its outputs."""
    prompt = cell.locator(".jp-InputPrompt")
    before = prompt.inner_text()
    cell.locator(".cm-content").click()
    cell.locator(".cm-content").focus()  # the page may have moved below the click: formulas are set late
    page.keyboard.press("Control+Enter")
    expect(prompt).not_to_have_text(before)
    expect(prompt).to_have_text(re.compile(r"^\[\d+\]:$"))
    return cell.locator(OUTPUTS)


def run_all_above(page: Page, cell: Locator) -> None:
    """Menu Run > Run All Above Selected Cell, and wait for the kernel to be idle."""
    cell.locator(".cm-content").click()
    choose(page, "Run", "Run All Above Selected Cell")
    wait_for_kernel(page)


def run_all(page: Page) -> None:
    """Menu Run > Run All Cells, and wait for the kernel to be idle. It stops at the first error, as for anybody."""
    choose(page, "Run", "Run All Cells")
    wait_for_kernel(page)


def choose(page: Page, *path: str) -> None:
    """The entry of the menu bar at the end of this path."""
    page.get_by_role("menuitem", name=path[0], exact=True).click()
    for name in path[1:]:
        page.locator(".lm-Menu-itemLabel", has_text=re.compile(rf"^{re.escape(name)}$")).last.click()


def wait_for_kernel(page: Page) -> None:
    expect(page.locator(f"{NOTEBOOK} .jp-InputPrompt", has_text="[*]")).to_have_count(0)
    expect(page.locator(f"{NOTEBOOK} .jp-Notebook-ExecutionIndicator[data-status=idle]")).to_be_visible()


def save(page: Page) -> None:
    page.keyboard.press("Control+s")
    expect(page.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current.jp-mod-dirty")).to_have_count(0)


def theme(page: Page, name: str) -> None:
    choose(page, "Settings", "Theme", name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", name)
    page.wait_for_timeout(500)


def walk(page: Page) -> Iterator[int]:
    """Scroll the notebook from top to bottom, a screen at a time; the number of each stop."""
    outer = page.locator(f"{NOTEBOOK} .jp-WindowedPanel-outer")
    outer.evaluate("panel => panel.scrollTo(0, 0)")
    for number in range(200):
        page.wait_for_timeout(400)  # cells are rendered as they come into view
        yield number
        if outer.evaluate("panel => panel.scrollTop + panel.clientHeight > panel.scrollHeight - 2"):
            return
        outer.evaluate("panel => panel.scrollBy({top: panel.clientHeight - 60, behavior: 'instant'})")
