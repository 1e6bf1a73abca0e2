"""What the first cell of a lesson loads: nothing that only a later cell may need."""

from __future__ import annotations

import json
import subprocess
import sys

CODE = """
import json, sys
import IPython, torch
before = set(sys.modules)
from grader import check, explain, hint, progress
print(json.dumps(sorted(set(sys.modules) - before)))
"""
LATER = (
    "grader.corpus",
    "grader.diagnosis",
    "grader.exercises",
    "grader.grading",
    "grader.learning.plots",
    "grader.lessons",
    "grader.report_html",
    "grader.report_text",
    "grader.where.curves",
    "grader.where.draw",
)


def loaded() -> list[str]:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def test_the_learners_names_load_little() -> None:
    new = loaded()
    roots = {name.partition(".")[0] for name in new}
    assert roots - set(sys.stdlib_module_names) <= {"grader", "torch"}, "no matplotlib, rich, sympy, ..."
    assert sum(name.startswith("torch.") for name in new) < 5, "what torch loads lazily stays unloaded"
    assert [name for name in new if name.startswith(LATER)] == []


def test_a_verdict_without_a_picture_does_not_load_matplotlib() -> None:
    """Nor does a grading run, in which there is none: `judge` and the report's text are all of it."""
    code = (
        "import sys, grader.exercises\n"
        "from grader.checking import verdict\n"
        "relu = grader.exercises.get('relu')\n"
        "for known in (relu.variants[0], relu.misconceptions[0]):\n"
        "    print(verdict(relu, known.thing, 7).text())\n"
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'matplotlib', 'PIL', 'IPython', 'rich'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
