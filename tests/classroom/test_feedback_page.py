"""The page a student gets: what it says, what it never says, and that nbgrader makes and hands out the same."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from markupsafe import escape
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.api import Gradebook

from grader.checking import verdict, with_where
from grader.classroom.answers import right_answer, wrong_answer
from grader.classroom.create import course_lessons, new_class
from grader.classroom.feedback_parts import extras, parts
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Writer
from grader.classroom.master import grade_id, load_master
from grader.classroom.picture import harmless, picture
from grader.classroom.run import grade_class
from grader.classroom.settings import load_config
from grader.classroom.templates import template
from grader.exercises import catalogue, get
from grader.grading.outputs import displayed
from grader.grading.outputs import verdict as verdict_of
from grader.hidden import class_seed
from grader.report import Report

from .test_nbgrader_commands import nbgrader

Students = Callable[[str], Any]
LESSON = "00_warm_up"
EVIL = "</pre></code><script>alert('ada')</script><img src=x onerror=alert(1)>"
ODD_NAMES = ("zoë łukasz", "<img src=x onerror=alert(1)>", 'o\'neil & "co"', "42", "学生+一")


class Page(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.pieces: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.pieces).split())

    def assert_plain(self) -> None:
        """No script, and nothing that is fetched from anywhere."""
        assert not {"script", "img", "iframe", "link", "object", "embed", "base", "form"} & set(self.tags)
        names = {name for name, _ in self.attributes}
        assert not [name for name in names if name.startswith("on") or name == "src"]
        links = [value for name, value in self.attributes if name.endswith("href")]
        assert all(value.startswith(("#", "feedback/", "report/")) for value in links), links


# ---- a real lesson ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def relu(tmp_path_factory: pytest.TempPathFactory) -> ClassFolder:
    """02_relu with one who ignores the upstream, one who writes HTML everywhere, one who is right, one with nothing."""
    folder = new_class(
        tmp_path_factory.mktemp("pages") / "relu", lessons={"02_relu": course_lessons()["02_relu"]}
    ).folder
    wrong = wrong_answer("relu", "no_upstream")
    assert wrong
    evil = f'{right_answer(folder, "02_relu", "relu")}\n# {EVIL}\nprint("""{EVIL}""")'
    raising = f"class LeakyReLU(torch.autograd.Function):\n    def forward(*a):\n        raise ValueError('''{EVIL}''')"
    hand_in(folder, "luca", {"relu": wrong})
    hand_in(folder, "eve", {"relu": evil, "leaky_relu": raising})
    hand_in(folder, "mei", {e: right_answer(folder, "02_relu", e) for e in ("relu", "leaky_relu", "clamp")})
    hand_in(folder, "ida", {})
    return folder


def hand_in(folder: ClassFolder, student: str, answers: dict[str, str]) -> None:
    notebook = nbformat.read(folder.release("02_relu"), as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(grade_id(cell), cell.source)
    if student == "eve":
        notebook.cells += [new_markdown_cell(f"my notes {EVIL}"), new_code_cell(f"mine = '''{EVIL}'''")]
    place = folder.submitted(student, "02_relu")
    place.mkdir(parents=True)
    nbformat.write(notebook, place / "02_relu.ipynb")


@pytest.fixture
def graded(relu: ClassFolder) -> ClassFolder:
    grade_class(relu.root)  # the second time nothing is left to do
    return relu


@pytest.mark.slow
def test_a_page_says_what_was_found(graded: ClassFolder) -> None:
    page = Page(graded.feedback("luca", "02_relu"))
    assert get("relu").sentence("no_upstream") in page.text
    assert "0 of 4" in page.text
    assert "not right yet" in page.text
    right = Page(graded.feedback("mei", "02_relu"))
    with Gradebook(graded.gradebook_url) as gradebook:
        score = gradebook.find_submission("02_relu", "mei").score
    assert score >= 12
    assert f"{score:g} of 21 points" in right.text
    assert right.text.count("right ·") == 3
    untouched = Page(graded.feedback("ida", "02_relu")).text
    assert "not written yet" in untouched
    assert "Your instructor writes" not in untouched  # nbgrader's own "No response." is no person's


@pytest.mark.slow
def test_a_page_shows_what_a_student_wrote_and_runs_none_of_it(graded: ClassFolder) -> None:
    page = Page(graded.feedback("eve", "02_relu"))
    page.assert_plain()
    assert page.text.count(EVIL) >= 5  # a comment and a print, its output, an error, two cells


@pytest.mark.slow
def test_nothing_hidden_is_in_a_page(graded: ClassFolder) -> None:
    master = load_master(graded, "02_relu")
    hidden = [
        line.strip() for cell in master.notebook.cells if "HIDDEN" in cell.source for line in cell.source.split("\n")
    ]
    given = (f for e in catalogue().values() for f in (e.reference.forward, e.reference.vjp))
    references = [inspect.getsource(f) for f in given if inspect.isfunction(f)]
    lines = {line.strip() for source in references for line in source.splitlines() if len(line.strip()) > 30}
    assert len(hidden) > 10
    assert len(lines) > 20
    released = graded.release("02_relu").read_text()
    for student in ("luca", "eve", "ida"):
        text = graded.feedback(student, "02_relu").read_text()
        shown = " ".join(Page(graded.feedback(student, "02_relu")).pieces)
        assert graded.secret() not in text
        assert not [id for id in catalogue() if str(class_seed(graded.secret(), id)) in text]
        assert not [line for line in hidden if len(line) > 8 and line in shown]
        assert not [line for line in lines if line in shown and json.dumps(line)[1:-1] not in released]


@pytest.mark.slow
def test_nbgraders_own_command_makes_the_same_pages(graded: ClassFolder) -> None:
    before = {path: path.read_bytes() for path in graded.root.glob("feedback/*/*/*.html")}
    assert len(before) == 4
    nbgrader(graded, "generate_feedback", "02_relu", "--force")
    assert {path: path.read_bytes() for path in before} == before


# ---- points, comments, lateness --------------------------------------------------------------------------------------


def test_points_and_comments_of_a_person(klass: ClassFolder, student: Students) -> None:
    student("ada").hand_in(triple="def triple(x):\n    return x")
    grade_class(klass.root)
    with Gradebook(klass.gradebook_url) as gradebook:
        grade = gradebook.find_grade("test_triple", LESSON, LESSON, "ada")
        grade.manual_score, grade.needs_manual_grade = 2.5, False
        gradebook.find_comment("triple", LESSON, LESSON, "ada").manual_comment = "Nearly!\n<b>see</b> me"
        gradebook.db.commit()
    with Writer(klass, load_config(klass)) as writer:
        writer.feedback("ada", LESSON)
    page = Page(klass.feedback("ada", LESSON))
    assert "4.5 of 5 points" in page.text
    assert "2.5 of 3" in page.text
    assert "points changed by your instructor, the tests gave 0" in page.text
    assert "Nearly! <b>see</b> me" in page.text


def test_what_lateness_costs(klass: ClassFolder, student: Students) -> None:
    with klass.config_file.open("a") as file:
        file.write('c.LateSubmissionPlugin.penalty_method = "zero"\n')
    with Gradebook(klass.gradebook_url) as gradebook:
        gradebook.update_or_create_assignment(LESSON, duedate="2026-01-31 12:00:00 UTC")
    student("ada").hand_in()
    (klass.submitted("ada", LESSON) / "timestamp.txt").write_text("2026-02-01 12:00:00 UTC\n")
    grade_class(klass.root)
    page = Page(klass.feedback("ada", LESSON))
    assert "0 of 5 points" in page.text
    assert "5 points earned, 5 taken off for handing in late: 0 count" in page.text
    assert "handed in 2026-02-01 12:00:00 UTC" in page.text


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_of_all_kinds(klass: ClassFolder, student: Students, name: str) -> None:
    student(name).hand_in()
    grade_class(klass.root)
    page = Page(klass.feedback(name, LESSON))
    page.assert_plain()
    assert f"{name} ·" in page.text


# ---- through the exchange --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_it_goes_out_through_the_exchange_though_one_file_is_unreadable(
    klass: ClassFolder, student: Students, tmp_path: Path
) -> None:
    exchange, cache = tmp_path / "exchange", tmp_path / "cache"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    with klass.config_file.open("a") as file:
        file.write(f'c.Exchange.root = "{exchange}"\nc.Exchange.cache = "{cache}"\n')
    student("ada").hand_in()
    student("bo").write("{")
    for name in ("ada", "bo"):
        place = klass.submitted(name, LESSON)
        (place / "timestamp.txt").write_text("2026-01-31 12:00:00.000000 UTC")
        (place / "submission_secret.txt").write_text(f"{name}'s own")
    grade_class(klass.root)
    nbgrader(klass, "release_feedback", LESSON)
    kept = cache / "tiny" / f"bo+{LESSON}+2026-01-31 12:00:00.000000 UTC"
    kept.mkdir(parents=True)
    (kept / "submission_secret.txt").write_text("bo's own")
    (kept / f"{LESSON}.ipynb").write_text("{")
    nbgrader(klass, "fetch_feedback", LESSON)
    (fetched,) = (klass.root / LESSON / "feedback").glob("*/*.html")
    assert fetched.read_bytes() == klass.feedback("bo", LESSON).read_bytes()
    assert "not a zero" in fetched.read_text()
    assert len(list((exchange / "tiny" / "feedback").glob("*.html"))) == 2


# ---- cells of other courses ------------------------------------------------------------------------------------------


def about(**nbgrader: Any) -> dict[str, Any]:
    return {"nbgrader": {"schema_version": 3, "locked": False, "grade": False, "solution": False, **nbgrader}}


def test_cells_that_a_person_grades_and_tests_without_a_verdict() -> None:
    failed = new_output("error", ename="AssertionError", evalue="no <b>", traceback=["the hidden test"])
    notebook: NotebookNode = new_notebook(
        cells=[
            new_code_cell("x = 1", metadata=about(grade_id="x", solution=True, comment="good")),
            new_code_cell(
                "assert hidden(x)", outputs=[failed], metadata=about(grade_id="t", grade=True, points=2, score=0)
            ),
            new_markdown_cell(
                "my *essay*", metadata=about(grade_id="e", grade=True, solution=True, points=3, score=1.5)
            ),
            new_markdown_cell("do this", metadata=about(grade_id="k", task=True, points=4, score=4, comment="fine")),
            new_code_cell("spare = 1", metadata=about(grade_id="s", solution=True)),
            new_code_cell("import given"),
            new_code_cell("mine"),
        ]
    )
    test, essay, task, spare = parts(notebook)
    assert (test.name, test.state, test.points, test.out_of, test.problem) == (
        "x",
        "wrong",
        0,
        2,
        "AssertionError: no <b>",
    )
    assert [code.source for code in test.answers] == ["x = 1"]
    assert test.comments == ["good"]
    assert (essay.state, essay.points, essay.out_of, essay.answers[0].text) == ("by hand", 1.5, 3, True)
    assert (task.state, task.points, task.comments) == ("by hand", 4, ["fine"])
    assert (spare.name, spare.out_of) == ("s", 0)
    assert [code.source for code in extras(notebook, frozenset({"import given"}))] == ["mine"]
    assert "hidden" not in str(parts(notebook))


# ---- pictures --------------------------------------------------------------------------------------------------------

DRAWN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path class="a" d="M0 0h9" fill="url(#g)"/>{}</svg>'


def page_of(found: Report) -> str:
    """What the page has on a verdict."""
    test = new_code_cell(
        "", outputs=[new_output("display_data", displayed(found))], metadata=about(grade_id="t", grade=True, points=4)
    )
    answer = new_code_cell("x = 1", metadata=about(grade_id="relu", solution=True))
    return template("feedback.html.j2").render(
        lesson="l", title="t", student="s", arrived="", total=0, earned=0, late=0, out_of=4, extras=[],
        parts=parts(new_notebook(cells=[answer, test])),
    )  # fmt: skip


def judged(id: str) -> Report:
    exercise = get("relu")
    thing = next(k.thing for k in (*exercise.misconceptions, *exercise.variants) if k.id == id)
    return with_where(exercise, thing, verdict(exercise, thing, 5, diagnose=False))


def test_the_picture_of_a_mistake_stands_in_the_page_with_its_words() -> None:
    found = judged("times_input")
    assert found.where is not None
    text = page_of(found)
    assert text.count("<svg ") == 2
    assert f'role="img" aria-label="{escape(found.where.words)}"' in text
    assert f"<figcaption>{escape(found.where.words)}</figcaption>" in text
    assert "<svg" not in page_of(judged("save_input")), "a right answer has none"


@pytest.mark.slow
def test_grader_grade_makes_pages_with_pictures(relu: ClassFolder) -> None:
    command = [sys.executable, "-m", "grader", "regrade", str(relu.root), "--jobs", "1", "--yes"]
    subprocess.run(command, check=True, capture_output=True, timeout=200)
    notebook = nbformat.read(relu.autograded("luca", "02_relu"), as_version=4)
    records = {r["exercise"]: r for r in (verdict_of(c.outputs) for c in notebook.cells if c.cell_type == "code") if r}
    assert "where" in records["relu"]
    assert "where" not in records["leaky_relu"], "it is not written yet"
    assert len(json.dumps(records["relu"])) < 20_000
    page = Page(relu.feedback("luca", "02_relu"))
    assert page.tags.count("svg") == 2
    assert ("aria-label", records["relu"]["where"]["words"]) in page.attributes
    assert "svg" not in Page(relu.feedback("mei", "02_relu")).tags


@pytest.mark.parametrize(
    "svg",
    [
        DRAWN.format("<script>alert(1)</script>"),
        DRAWN.format('<a href="http://x">x</a>'),
        DRAWN.format('<path d="M0 0" onclick="alert(1)"/>'),
        DRAWN.format('<path d="M0 0" style="fill: url(http://x/y)"/>'),
        DRAWN.format('<path d="M0 0" style="fill: u\\rl(http://x/y)"/>'),
        DRAWN.format("<foreignObject><b>x</b></foreignObject>"),
        DRAWN.format("<image href='x.png'/>"),
        DRAWN.format("<style>* { display: none }</style>"),
        '<!DOCTYPE svg [<!ENTITY a "b">]>' + DRAWN.format("&a;"),
        "<svg><path></svg>",
        "<b>no picture</b>",
        "",
    ],
)
def test_no_picture_that_does_more_than_draw(svg: str) -> None:
    assert harmless(DRAWN.format("<text>3 &lt; 4</text>"))
    assert not harmless(svg)


def forged(words: Any, *titles: str) -> dict[str, Any]:
    grids = [{"kind": "grid", "title": t, "rows": [t], "columns": [t], "values": ["1.0"]} for t in titles]
    return {"exercise": "relu", "where": {"words": words, "panels": grids}}


def test_a_forged_record_can_only_be_text() -> None:
    found = picture(forged("words", EVIL))
    assert found is not None
    assert "<script" not in found.panels[0]
    assert picture(forged("", "a")) is None
    assert picture(forged(3, "a")) is None
    assert picture(forged("words", *["a" * 900] * 90)) is None, "too large"
    plot = {"kind": "plot", "title": "", "across": "x", "x": "", "lines": [], "shaded": [], "marks": []}
    assert picture({"where": {"words": "none", "panels": [plot]}}) is None
    huge = plot | {"x": "-1e308 1e308"}
    assert picture({"where": {"words": "none", "panels": [huge]}}) is None
    assert picture({"where": "text"}) is None
    assert picture({"exercise": "relu"}) is None
