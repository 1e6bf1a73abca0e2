"""Every lesson as a newcomer has it, run from top to bottom in JupyterLab and looked at from top to bottom."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page

from tests.browser.lab import NOTEBOOK, open_lesson, run_all, save, theme, walk
from tests.jupyterlab import Course

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSONS = sorted(path.name for path in (Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SEEN = f"{NOTEBOOK} .jp-OutputArea-output img"


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """What the browser's console has to complain of."""
    said: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error":
            said.append(f"{message.text} ({message.location.get('url', '')})")

    page.on("console", hear)
    page.on("pageerror", lambda error: said.append(str(error)))
    return said


@pytest.mark.parametrize("lesson", LESSONS)
def test_it_runs_from_top_to_bottom(
    page: Page, course: Course, complaints: list[str], pictures: Path | None, lesson: str
) -> None:
    open_lesson(page, course.lesson(lesson))
    run_all(page)
    words: set[str] = set()
    for number in walk(page):
        for image in page.locator(f"{SEEN}:visible").all():
            words.add(image.get_attribute("alt") or f"no alt text: {image.bounding_box()}")
        if pictures:
            page.screenshot(path=pictures / f"{lesson[:2]}-light-{number:02}.png")
    assert words
    assert all(len(alt.split()) > 5 and not alt.startswith("no alt text") for alt in words), words
    save(page)
    cells = json.loads((course.folder / lesson).read_text(encoding="utf-8"))["cells"]
    assert [cell["id"] for cell in cells if cell["cell_type"] == "code" and not cell["execution_count"]] == []
    assert [said for cell in cells for said in unexpected(cell)] == []
    assert complaints == []
    if pictures:
        look_at_it_dark_and_narrow(page, pictures, lesson)


def unexpected(cell: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(cell, what it says) of every error and word on stderr that a newcomer should not see."""
    for output in cell.get("outputs", ()):
        if output["output_type"] == "error":
            yield cell["id"], f"{output['ename']}: {output['evalue']}"
        if output.get("name") == "stderr":
            yield cell["id"], "".join(output["text"])


def look_at_it_dark_and_narrow(page: Page, pictures: Path, lesson: str) -> None:
    theme(page, "JupyterLab Dark")
    for number in walk(page):
        page.screenshot(path=pictures / f"{lesson[:2]}-dark-{number:02}.png")
    theme(page, "JupyterLab Light")
    page.set_viewport_size({"width": 620, "height": 900})
    for number in walk(page):
        page.screenshot(path=pictures / f"{lesson[:2]}-narrow-{number:02}.png")
