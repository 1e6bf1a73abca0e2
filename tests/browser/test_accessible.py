"""What the course itself shows in JupyterLab, held against axe-core's rules (WCAG A and AA, contrast among them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.lab import NOTEBOOK, cell_with, open_lesson, retype, run, run_all_above, theme
from tests.browser.test_learner import NO_UPSTREAM, RIGHT
from tests.jupyterlab import Course

pytestmark = [pytest.mark.browser, pytest.mark.slow]

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
# Of a page, not of a part of one; the page is JupyterLab's.
OF_THE_PAGE = ("region", "page-has-heading-one", "landmark-one-main", "bypass")
# ipywidgets gives a slider's handle no name, and no way to give it one; its label stands beside it.
UPSTREAM = (("aria-input-field-name", "noUi-handle"),)


def faults(page: Page, where: str) -> list[str]:
    """What axe finds wrong in the elements of this selector, in words."""
    options = {**RULES, "rules": {rule: {"enabled": False} for rule in OF_THE_PAGE}, "resultTypes": ["violations"]}
    found = Axe().run(page, {"include": [[where]]}, options).response
    assert found["passes"], f"axe found nothing to look at in {where}"
    return [said(rule, node) for rule in found["violations"] for node in rule["nodes"] if not upstream(rule, node)]


def upstream(rule: dict[str, Any], node: dict[str, Any]) -> bool:
    return any(rule["id"] == id and part in node["html"] for id, part in UPSTREAM)


def said(rule: dict[str, Any], node: dict[str, Any]) -> str:
    why = " ".join(check["message"] for check in (*node["any"], *node["all"], *node["none"]))
    return f"{rule['id']}: {node['html'][:200]} {why}"


def unfold(page: Page) -> None:
    page.evaluate("document.querySelectorAll('.jp-OutputArea-output details').forEach(part => part.open = true)")


SHOWN = {  # what is typed into the check's cell, and what is then to be seen
    "report, wrong": 'check("relu", Wrong)',
    "report, right": 'check("relu", MyReLU)',
    "report, not written": 'check("leaky_relu", LeakyReLU)',
    "hint": 'hint("relu")',
    "explanation": 'explain("upstream_linearity")',
    "solution": 'solution("relu")',
    "dashboard": "progress()",
    "strip": 'progress("02_relu")',
    "unknown name": 'hint("relo")',
    "explorer": "from grader.learning.explorers import explore_kink\nexplore_kink()",
    "explorer with buttons": "from grader.learning.explorers import explore_gradcheck\nexplore_gradcheck()",
    "figure": "fig, ax = figure(alt='one line that rises')\nax.plot([0, 1])\nfig.show()",
}


def test_what_the_course_shows_breaks_no_rule(page: Page, course: Course, pictures: Path | None) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    cell = cell_with(page, "class LeakyReLU")
    run_all_above(page, cell)
    run(page, cell)
    wrong = NO_UPSTREAM.replace("class MyReLU", "class Wrong")
    retype(page, cell_with(page, "class MyReLU"), f"{wrong}\n\n{RIGHT}")
    run(page, cell_with(page, "class MyReLU"))
    found: dict[str, list[str]] = {}
    for name, code in SHOWN.items():
        cell = cell_with(page, "# here") if found else cell_with(page, "class LeakyReLU")
        retype(page, cell, f"{code}\n# here")
        cell = cell_with(page, "# here")
        expect(run(page, cell).first).to_be_visible()
        for look in ("JupyterLab Light", "JupyterLab Dark"):
            theme(page, look)
            unfold(page)
            found[f"{name}, {look}"] = faults(page, area(cell))
            if pictures:
                cell.screenshot(path=pictures / f"axe-{name}-{look[11:]}.png".replace(" ", "-"))
    assert {name: said for name, said in found.items() if said} == {}


def area(cell: Locator) -> str:
    """A selector of the outputs of this cell."""
    cell.evaluate(
        "cell => { document.querySelectorAll('[data-looked-at]').forEach(e => delete e.dataset.lookedAt);"
        " cell.querySelector('.jp-Cell-outputWrapper').dataset.lookedAt = 'yes'; }"
    )
    return f"{NOTEBOOK} [data-looked-at]"
