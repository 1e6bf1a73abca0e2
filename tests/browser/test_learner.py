"""A learner in a browser: opens the course, answers wrongly, reads the verdict, mends it, and comes back."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

import grader.exercises
from tests.browser.lab import NOTEBOOK, cell_with, open_lesson, retype, run, run_all_above
from tests.jupyterlab import Course

pytestmark = pytest.mark.browser

NO_UPSTREAM = """\
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x > 0).to(x.dtype)
"""
RIGHT = NO_UPSTREAM.replace("return (x > 0).to(x.dtype)", "return g * (x > 0)")


def test_it_opens_on_lesson_00_and_asks_no_other_host(
    page: Page, course: Course, pictures: Path | None
) -> None:
    hosts: set[str | None] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    open_lesson(page, course.url)
    expect(page.locator(".jp-NotebookPanel h1").first).to_contain_text("00")
    page.wait_for_timeout(2_000)  # news and update checks would come late
    expect(page.locator(".jp-Dialog")).to_have_count(0)
    expect(page.locator(".Toastify__toast")).to_have_count(0)
    assert hosts <= {"localhost", None}
    if pictures:
        page.screenshot(path=pictures / "lesson-00.png")


def test_lesson_02_an_answer_typed_in_gets_its_verdict(
    page: Page, course: Course, pictures: Path | None
) -> None:
    relu = grader.exercises.get("relu")
    open_lesson(page, course.lesson("02_relu.ipynb"))
    answer = cell_with(page, "class MyReLU")
    expect(answer).to_contain_text("NotImplementedError")
    run_all_above(page, answer)

    retype(page, answer, NO_UPSTREAM)
    expect(run(page, answer)).to_have_count(0)
    check = cell_with(page, 'check("relu", MyReLU)')
    wrong = run(page, check)
    mistake = next(m for m in relu.misconceptions if m.id == "no_upstream")
    expect(wrong.first).to_contain_text(mistake.sentence)
    if pictures:
        page.screenshot(path=pictures / "lesson-02-wrong.png")

    retype(page, answer, RIGHT)
    run(page, answer)
    verdict = run(page, cell_with(page, 'check("relu", MyReLU)'))
    expect(verdict.first).to_contain_text(f"{relu.points} of {relu.points}")
    expect(page.locator("[data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)
    if pictures:
        page.screenshot(path=pictures / "lesson-02.png")


def test_work_is_saved_and_still_there_on_coming_back(page: Page, course: Course) -> None:
    open_lesson(page, course.url)
    first = page.locator(f"{NOTEBOOK} .jp-CodeCell").first
    retype(page, first, "print('my own note')")
    dirty = page.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current.jp-mod-dirty")
    expect(dirty).to_have_count(1)
    page.keyboard.press("Control+s")
    expect(dirty).to_have_count(0)
    lesson = course.folder / PurePosixPath(urlsplit(course.url).path).name
    assert "my own note" in lesson.read_text(encoding="utf-8")
    open_lesson(page, course.url)
    expect(page.locator(f"{NOTEBOOK} .jp-CodeCell").first).to_contain_text("my own note")
