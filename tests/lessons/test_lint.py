"""Every rule fires on a source that breaks it, at the right line, and on nothing else."""

# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping

import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.lessons import Folders
from grader.lessons.lint import fix_lessons, lint_lessons
from grader.lessons.rules import RULES, ExerciseFacts, Problem

# rule: [(replace this, by that, a text that stands in the line named)], all in 01_squares.py
CASES: dict[str, list[tuple[str, str, str]]] = {
    "syntax": [
        ("print(table(x))", "print(table(x)", "print(table(x)"),
        # the region takes a `try` without its `except`
        ("        ctx.save_for_backward(x)\n        return x * x\n        ### END SOLUTION\n",
         "        try:\n            return x * x\n        ### END SOLUTION\n        finally:\n            pass\n", "grade_id\": \"square\""),
    ],
    "regions": [("        return x * x\n        ### END SOLUTION\n", "        return x * x\n", "### BEGIN SOLUTION")],
    "region-place": [
        ("x * x\n\n", "### BEGIN SOLUTION\nx * x\n### END SOLUTION\n\n", "### BEGIN SOLUTION"),
        ("x * x\n\n", "### BEGIN HIDDEN TESTS\nx * x\n### END HIDDEN TESTS\n\n", "### BEGIN HIDDEN TESTS"),
    ],
    "delimiter-words": [
        ("# - Squares have", "# - the END HIDDEN TESTS of squares have", "of squares have"),
        ("        ### BEGIN SOLUTION\n        ctx", "        # BEGIN SOLUTION\n        ctx", "# BEGIN SOLUTION"),
        ("print(table(x))", "print('### BEGIN MARK SCHEME')", "MARK SCHEME"),
        ("print(table(x))", "### AUTOTEST x", "AUTOTEST"),
    ],
    "metadata": [
        ('"schema_version": 3', '"schema_version": 2', "# %% nbgrader"),
        ('"points": 3, ', "", '"grade_id": "test_square"'),
        ('"grade_id": "square"', '"grade_id": "sq uare"', "sq uare"),
        ('"grade_id": "square"', '"grade_id": "top-1"', "top-1"),
        ('"schema_version": 3, "solution": true}\nclass', '"schema_version": 3, "solution": true\nclass', "# %% nbgrader"),
    ],
    "unique-ids": [('"grade_id": "who_squares"', '"grade_id": "square"', '"grade_id": "square"')],
    "answer-in-function": [
        ("    ### BEGIN SOLUTION\n    return \"b\"\n    ### END SOLUTION\n", "    return \"b\"\n", '"grade_id": "who_squares"'),
        ("def who_squares() -> str:\n", "### BEGIN SOLUTION\nletter = 'b'\n### END SOLUTION\ndef who_squares() -> str:\n", "### BEGIN SOLUTION"),
    ],
    "locked-tests": [
        ('"grade_id": "test_square", "locked": true', '"grade_id": "test_square", "locked": false', "test_square"),
        ('"points": 3, "schema_version": 3, "solution": false', '"points": 3, "schema_version": 3, "solution": true', "test_square"),
        ("# %% [markdown]\n# ### Exercise `square`",
         '# %% [markdown] nbgrader={"grade": true, "grade_id": "t", "locked": false, "points": 1, "schema_version": 3, "solution": false, "task": true}\n# ### Exercise `square`',
         '"task": true'),
        ('"grade_id": "square", "locked": false', '"grade_id": "square", "locked": true', '"grade_id": "square"'),
    ],
    "paired": [
        ('"grade_id": "test_square"', '"grade_id": "tests_square"', '"grade_id": "square"'),
        ("        return 2 * saved_for_square * grad_output\n        ### END SOLUTION\n",
         "        return 2 * saved_for_square * grad_output\n        ### END SOLUTION\n\n# %%\nx + x\n", '"grade_id": "test_square"'),
        ('"grade": true, "grade_id": "test_square", "locked": true, "points": 3', '"grade": false, "grade_id": "other", "locked": true', '"grade_id": "square"'),
    ],
    "test-form": [
        ('grade("square", Square)\n### END', 'grade("square", Square)\nNone\n### END', '"grade_id": "test_square"'),
        ('grade("square", Square)\n### END', 'grade("square", Square);\n### END', '"grade_id": "test_square"'),
        ('check("square", Square)\n', "", '"grade_id": "test_square"'),
        ('grade("square", Square)\n### END', 'grade("triple", Square)\n### END', '"grade_id": "test_square"'),
        ('check("square", Square)\n', 'check("square", square)\n', '"grade_id": "test_square"'),
        ('grade("square", Square)\n### END HIDDEN TESTS', 'score = grade("square", Square)\n### END HIDDEN TESTS', '"grade_id": "test_square"'),
    ],
    "known-exercise": [
        ('"grade_id": "square"', '"grade_id": "cube"', '"grade_id": "cube"'),
        ('"grade_id": "square"', '"grade_id": "triple"', '"grade_id": "triple"'),
        ('"grade_id": "square"', '"grade_id": "cube"', "# ---"),  # square itself has no cell now
    ],
    "points": [('"points": 3', '"points": 4', '"grade_id": "test_square"')],
    "symbol-defined": [
        ("class Square(Function):", "class Sqare(Function):", '"grade_id": "square"'),
        ("class Square(Function):", "if True:\n  class Square(Function):", '"grade_id": "square"'),
    ],
    "header-fields": [
        ("#     minutes: 10\n", "", "# ---"),
        ("minutes: 10", "minutes: ten", "minutes: ten"),
        ("minutes: 10", "minutes: true", "minutes: true"),
        ("title: Squares, and who calls whom", "title: ''", "title:"),
        ("minutes: 10", "minutes: 10\n#     duration: 3", "duration"),
        ("#     prerequisites:\n#     - 00_warm_up\n", "#     prerequisites: 00_warm_up\n", "prerequisites"),
        ("#     goals:\n#     - write a class with two methods\n#     - 'answer a quiz: a function that returns a letter'\n", "#     goals: []\n", "goals"),
    ],
    "prerequisites": [("- 00_warm_up", "- 00_cold", "00_cold"), ("- 00_warm_up", "- 01_squares", "01_squares")],
    "jupytext-form": [
        ("\n\n# %% [markdown]\n# ## Recap", "\n\n\n\n\n# %% [markdown] other=\"x\"\n# ## Recap", ""),
        ("#     minutes: 10\n#     prerequisites:\n#     - 00_warm_up\n", "#     prerequisites: [00_warm_up]\n#     minutes: 10\n", "prerequisites"),
    ],
    "title": [("# # 01 · Squares", "# ## 01 · Squares", "# %% [markdown]"), ("# ## Recap", "# # Recap", "# # Recap")],
    "recap": [("## Recap", "## The end", "# %% [markdown]")],
    "further-reading": [
        ("## Further reading", "## Links", "# %% [markdown]"),
        ("- <https://docs.pytorch.org/docs/stable/autograd.html>", "- the documentation", "## Further reading"),
    ],
    "alt-text": [
        ("# Two regions", "# ![](pictures/line.svg)\n# Two regions", "line.svg"),
        ("# Two regions", '# <img src="pictures/line.svg" alt="">\n# Two regions', "line.svg"),
        ("# Two regions", '# <img src="pictures/line.svg"/>\n# Two regions', "line.svg"),
    ],
    "pictures-at-hand": [
        ("# Two regions", "# ![a line](pictures/lines.svg)\n# Two regions", "lines.svg"),
        ("# Two regions", "# ![a line](https://example.org/line.svg)\n# Two regions", "example.org"),
    ],
    "cell-length": [("x * x\n\n", "x * x\n" * 40 + "\n", "# %%")],
    "import-wall": [("x * x\n\n", "".join(f"import {m}\n" for m in "abcdefghi") + "x * x\n\n", "# %%")],
    "magics": [("x * x\n\n", "# %matplotlib inline\nx * x\n\n", "%matplotlib"), ("x * x\n\n", "# !ls\nx * x\n\n", "!ls")],
    "network": [
        ("import torch\n", "import torch\nimport requests\n", "import requests"),
        ("import torch\n", "import torch\nfrom urllib.request import urlopen\n", "urllib"),
        ("x * x\n\n", "torch.hub.load('a', 'b')\n\n", "torch.hub"),
        ("import torch\n", "import torch\nfrom torch import hub\n", "hub"),
    ],
}  # fmt: skip
_FLAT = [(rule, *case) for rule, cases in CASES.items() for case in cases]


def test_miniature_course_is_clean(mini: Folders, mini_exercises: Mapping[str, ExerciseFacts]) -> None:
    assert lint_lessons(mini, exercises=mini_exercises) == []


def test_every_rule_has_a_case_and_says_what_it_asks() -> None:
    assert {rule.id for rule in RULES} == {*CASES, "file-name"}
    assert all(rule.summary.endswith(".") or ": " in rule.summary for rule in RULES)
    assert len({rule.summary for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(("rule", "old", "new", "needle"), _FLAT, ids=[case[0] for case in _FLAT])
def test_rule_fires_where_it_should(
    copied: Folders, mini_exercises: Mapping[str, ExerciseFacts], rule: str, old: str, new: str, needle: str
) -> None:
    source = copied.source("01_squares")
    text = source.read_text(encoding="utf-8")
    assert old in text
    source.write_text(text.replace(old, new, 1), encoding="utf-8")
    problems = lint_lessons(copied, exercises=mini_exercises)
    lines = source.read_text(encoding="utf-8").splitlines()
    own = [problem for problem in problems if problem.rule == rule]
    assert own, [str(problem) for problem in problems]
    assert any(needle in lines[problem.line - 1] for problem in own), [str(problem) for problem in own]
    assert all(problem.where.endswith(f"01_squares.py:{problem.line}") for problem in problems)


# Faults of prose and code that must not drag other rules along
@pytest.mark.parametrize(
    "rule",
    [
        "points",
        "header-fields",
        "recap",
        "further-reading",
        "alt-text",
        "cell-length",
        "network",
        "test-form",
    ],
)
def test_rule_fires_alone(copied: Folders, mini_exercises: Mapping[str, ExerciseFacts], rule: str) -> None:
    old, new, _ = CASES[rule][0]
    source = copied.source("01_squares")
    source.write_text(source.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert {problem.rule for problem in lint_lessons(copied, exercises=mini_exercises)} == {rule}


def test_words_that_only_look_like_faults(
    copied: Folders, mini_exercises: Mapping[str, ExerciseFacts]
) -> None:
    source = copied.source("01_squares")
    text = source.read_text(encoding="utf-8")
    innocent = (
        "# Two regions begin, a solution ends; `![](no.png)` in a fence is code:\n#\n# ```\n"
        "# ![](no.png)\n# # no heading\n# ```\n#\n# Two regions"
    )
    text = text.replace("# Two regions", innocent).replace("x * x\n\n", 'rest = x % 2\nf"{5 % 3}!"\n\n', 1)
    source.write_text(text.replace("`![](no.png)` ", ""), encoding="utf-8")
    assert [str(problem) for problem in lint_lessons(copied, exercises=mini_exercises)] == []


def test_file_name_is_judged(copied: Folders) -> None:
    copied.source("01_squares").rename(copied.solutions / "1-squares.py")
    assert "file-name" in {problem.rule for problem in lint_lessons(copied)}


def test_unreadable_source_is_one_problem_and_others_go_on(copied: Folders) -> None:
    copied.source("00_warm_up").write_bytes(b"\xff")
    copied.source("01_squares").write_text(
        copied.source("01_squares").read_text(encoding="utf-8").replace("## Recap", "## End"),
        encoding="utf-8",
    )
    problems = lint_lessons(copied)
    assert [problem.rule for problem in problems] == ["readable", "recap"]


def test_fix_makes_the_form_clean_and_keeps_the_cells(copied: Folders, mini: Folders) -> None:
    source = copied.source("01_squares")
    for old, new, _ in CASES["jupytext-form"]:
        source.write_text(source.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    assert fix_lessons(copied) == ["01_squares"]
    assert fix_lessons(copied) == []
    assert "jupytext-form" not in {problem.rule for problem in lint_lessons(copied)}
    fixed = source.read_text(encoding="utf-8")
    original = mini.source("01_squares").read_text(encoding="utf-8")
    assert [line for line in fixed.split("\n") if line] == [line for line in original.split("\n") if line]


def test_command(copied: Folders) -> None:
    where = ["--no-exercises", "--solutions", str(copied.solutions)]
    clean = CliRunner().invoke(main, ["lint", *where])
    assert (clean.exit_code, clean.output) == (0, "2 lessons linted, no problems\n")
    source = copied.source("01_squares")
    source.write_text(source.read_text(encoding="utf-8").replace("## Recap", "## End"), encoding="utf-8")
    broken = CliRunner().invoke(main, ["lint", *where])
    assert broken.exit_code == 1
    assert "01_squares.py:" in broken.output
    assert "[recap] there is no recap: add a heading" in broken.output
    assert CliRunner().invoke(main, ["lint", "00", *where]).exit_code == 0
    assert CliRunner().invoke(main, ["lint", "no_such", *where]).exit_code == 2


def test_list_of_rules() -> None:
    result = CliRunner().invoke(main, ["lint", "--rules"])
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.output.splitlines()] == [rule.id for rule in RULES]


def test_problem_reads_as_one_line() -> None:
    assert str(Problem("recap", "a.py:3", 3, "there is none")) == "a.py:3: [recap] there is none"
