"""The report in JupyterLab: the named mistake, its picture once and with alt text, in every theme and width."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from grader.checking import check
from grader.exercises import get
from grader.report_html import bundles
from tests.browser.lab import NOTEBOOK, cell_with, open_lesson, retype, run, run_all_above, theme
from tests.browser.test_learner import NO_UPSTREAM
from tests.jupyterlab import Course

pytestmark = pytest.mark.browser

MATRIX = """\
# In place of class MyReLU
class LinearFunction(Function):
    @staticmethod
    def forward(ctx, x, weight, bias=None):
        ctx.save_for_backward(x, weight, bias)
        y = x @ weight.transpose(-1, -2)
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx, g):
        x, weight, bias = ctx.saved_tensors
        rows, given = g.reshape(-1, g.shape[-1]), x.reshape(-1, x.shape[-1])
        return g @ weight, rows.T @ given, None if bias is None else rows.mean(0)
"""


def seen(outputs: Locator) -> Locator:
    """The picture of a report: the only image there that takes more than a dot of room, and no other lacks alt text."""
    images = outputs.locator("img:visible")
    expect(images.first).to_be_visible()
    large = [i for i in images.all() if (i.bounding_box() or {"width": 0})["width"] > 5]
    assert len(large) == 1
    assert large[0].evaluate("image => image.complete && image.naturalWidth > 200")
    return large[0]


def shoot(page: Page, pictures: Path | None, name: str) -> None:
    if pictures:
        page.screenshot(path=pictures / f"{name}.png")


def test_a_wrong_answer_is_named_and_shown(page: Page, course: Course, pictures: Path | None) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    answer = cell_with(page, "class MyReLU")
    run_all_above(page, answer)
    retype(page, answer, NO_UPSTREAM)
    run(page, answer)
    outputs = run(page, cell_with(page, 'check("relu", MyReLU)'))
    mistake = next(m for m in get("relu").misconceptions if m.id == "no_upstream")
    report = outputs.first
    expect(report).to_contain_text(mistake.sentence)
    picture = seen(outputs)
    alt = picture.get_attribute("alt")
    assert alt is not None
    assert "Your gradient differs from -2 times the slope of your forward for x from 0 to" in alt
    passed = report.locator("summary", has_text="checks passed")
    expect(report.get_by_text("forward_nonfinite")).to_be_hidden()
    passed.click()
    expect(report.get_by_text("forward_nonfinite")).to_be_visible()
    passed.click()
    report.scroll_into_view_if_needed()
    shoot(page, pictures, "report-light")
    theme(page, "JupyterLab Dark")
    shoot(page, pictures, "report-dark")
    page.set_viewport_size({"width": 560, "height": 900})
    picture.scroll_into_view_if_needed()
    fits = "report => report.scrollWidth <= report.clientWidth"
    assert page.locator(f"{NOTEBOOK} .grader-report").first.evaluate(fits)
    shoot(page, pictures, "report-narrow")
    page.set_viewport_size({"width": 1280, "height": 900})
    theme(page, "JupyterLab Light")


def test_a_jacobian_is_shown(page: Page, course: Course, pictures: Path | None) -> None:
    open_lesson(page, course.lesson("02_relu.ipynb"))
    cell = cell_with(page, "class MyReLU")
    run_all_above(page, cell)
    retype(page, cell, MATRIX + '\ncheck("linear", LinearFunction)')
    picture = run(page, cell).first.locator("img.gr-picture")
    assert "/dbias[" in (picture.get_attribute("alt") or "")
    picture.scroll_into_view_if_needed()
    shoot(page, pictures, "jacobian-light")
    theme(page, "JupyterLab Dark")
    shoot(page, pictures, "jacobian-dark")
    theme(page, "JupyterLab Light")


def test_a_notebook_that_is_not_trusted_shows_it_too(page: Page, course: Course, pictures: Path | None) -> None:
    """As one that came by mail: JupyterLab drops the style, and the plain picture is shown instead."""
    wrong = next(m for m in get("relu").misconceptions if m.id == "mask_inverted")
    outputs = [
        nbformat.v4.new_output("display_data", data=data, metadata=metadata)
        for data, metadata in bundles(check("relu", wrong.thing))
    ]
    cell = nbformat.v4.new_code_cell("check('relu', MyReLU)", outputs=outputs, execution_count=1)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    file = course.folder / "mailed.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=kernel), file)
    open_lesson(page, course.lesson(file.name))
    report = page.locator(f"{NOTEBOOK} .jp-OutputArea-output")
    expect(report.first).to_contain_text(wrong.sentence)
    seen(report)
    shoot(page, pictures, "report-untrusted")
