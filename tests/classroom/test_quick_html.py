"""QuickHTML draws what nbconvert's HTMLExporter draws, to the byte, whatever students write."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config import Config

from grader.classroom import quick_html
from grader.classroom.quick_html import QuickHTML, draws_as_usual

LESSONS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
STRANGE = [
    "<div>open",
    "</div> closed elsewhere",
    "<b>crossed</i></b> and <p>one<p>two",
    "<!-- a comment that does not end",
    "a < b > c & d &amp",
    "<img src='files/x.png'>\n\n![plot](files/y.png)",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx<1\n```\n\n$a<b$",
    "<script>alert('</div>')</script>",
    "<pre>\n   </pre><textarea>   </textarea>",
    "<br></br><hr/><x/>&nbsp;",
    "x >",
    "   ",
    "",
    "<div class='jp-Notebook'><div class='jp-Cell-inputWrapper'>x</div></div>",
    "<piece-0 number='0'></piece-0>",
    '<a href="files/q">q</a> [l](files/z)',
]


def strange(text: str) -> NotebookNode:
    shown = {"text/markdown": text, "text/html": text, "text/plain": text, "image/png": ""}
    outputs = [new_output("display_data", data={kind: data}) for kind, data in shown.items()]
    outputs.append(new_output("stream", text=text))
    graded = {"nbgrader": {"grade": True, "grade_id": "x", "solution": True, "score": 1, "points": 2, "comment": text}}
    cells = [
        new_markdown_cell(text),
        new_code_cell(text, outputs=outputs, metadata=graded),
        new_markdown_cell(f"after\n\n{text}", attachments={"p.png": {"image/png": "AAAA"}}),
        new_code_cell(f"%%bash\n{text}", metadata={"magics_language": "bash"}),
    ]
    made: NotebookNode = new_notebook(cells=cells)
    return made


def lesson(path: Path) -> NotebookNode:
    found: NotebookNode = nbformat.read(path, as_version=4)
    for cell in found.cells:
        if "nbgrader" in cell.metadata:
            cell.metadata.nbgrader.update(score=1.0, points=2.0, comment="see **me**")
    return found


@pytest.fixture(scope="module")
def exporters(tmp_path_factory: pytest.TempPathFactory) -> tuple[TemplateExporter, TemplateExporter]:
    """nbconvert's and ours, both as GenerateFeedback sets them up."""
    root = str(tmp_path_factory.mktemp("c"))
    converter: Any = GenerateFeedback(coursedir=CourseDirectory(root=root), config=Config())
    kinds: list[Any] = [HTMLExporter, QuickHTML]
    both = [kind(parent=converter, config=converter.config) for kind in kinds]
    for exporter in both:
        exporter.register_preprocessor(CSSHTMLHeaderPreprocessor)
    return both[0], both[1]


def page(exporter: TemplateExporter, notebook: NotebookNode) -> str:
    about = {"notebook": "n", "score": 1, "max_score": 2, "late_penalty": 0}
    text, _ = exporter.from_notebook_node(copy.deepcopy(notebook), {"nbgrader": about, "config_dir": "none"})
    return str(text)


@pytest.mark.parametrize("text", STRANGE)
def test_strange_text(exporters: tuple[TemplateExporter, TemplateExporter], text: str) -> None:
    theirs, ours = exporters
    notebook = strange(text)
    expected = page(theirs, notebook)
    for _ in range(2):  # drawn, and then remembered
        assert page(ours, notebook) == expected


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons(exporters: tuple[TemplateExporter, TemplateExporter], path: Path) -> None:
    theirs, ours = exporters
    assert page(ours, lesson(path)) == page(theirs, lesson(path)) == page(ours, lesson(path))


def test_other_templates_are_left_to_nbconvert() -> None:
    assert draws_as_usual(HTMLExporter, Config())
    assert not draws_as_usual(TemplateExporter, Config())
    assert not draws_as_usual(HTMLExporter, Config({"HTMLExporter": {"template_name": "lab"}}))
    assert not draws_as_usual(HTMLExporter, Config({"TemplateExporter": {"filters": {"x": "y"}}}))


texts = st.text(alphabet="ab <>&\"'\n\t#;1é", max_size=12)
ENTITIES = ("&amp;", "&lt;", "&quot;", "&#39;", "&nbsp;", "&#183;", "&#9733;", "&#150;", "&x;")
words = st.sampled_from((*ENTITIES, "\n  ", " ", "x", ">"))
values = st.one_of(st.sampled_from(["", "a", " a  b ", "x:1", "a&amp;b"]), texts.filter(lambda t: '"' not in t))


@st.composite
def pieces(draw: st.DrawFn, depth: int = 3) -> str:
    """HTML much like a cell's, and some that is not well formed."""
    tag = draw(st.sampled_from(["div", "span", "pre", "a", "p", "br", "code"]))
    names = draw(st.lists(st.sampled_from(["class", "id", "href", "rel", "style", "data-x"]), max_size=3))
    attributes = "".join(f' {name}="{draw(values)}"' for name in names)
    parts = draw(st.lists(st.one_of(words, texts, *([pieces(depth - 1)] if depth else [])), max_size=4))
    return f"<{tag}{attributes}>{''.join(parts)}</{draw(st.sampled_from([tag, tag, tag, 'div']))}>"


@given(pieces())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_printed_without_a_parser_is_what_the_parser_prints(html: str) -> None:
    printed = quick_html._plainly_printed(html)
    if printed is not None:
        assert printed == str(BeautifulSoup(html, features="html.parser"))


def test_cells_are_printed_without_a_parser() -> None:
    """Else it would be of no use."""
    code = '<span class="k">x</span> &lt; &quot;y&quot;\n  '
    cell = f'<div id="cell-1" class="cell  code_cell">\n <pre>{code}</pre>\n</div>'
    assert quick_html._plainly_printed(cell) == str(BeautifulSoup(cell, features="html.parser"))
