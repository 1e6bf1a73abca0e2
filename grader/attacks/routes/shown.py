"""Attacks through what is shown afterwards: feedback pages, reports, error messages."""

from __future__ import annotations

from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_raw_cell

from grader.attacks.attack import Attack, Field

__all__ = ["ATTACKS", "script"]


def script(id: str) -> str:
    """What must not stand in a page as it is."""
    return f"<script>window.owned = '{id}'</script>"


def _text_cell(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    notebook.cells.insert(0, new_markdown_cell(f"My notes {script('script_in_text')}"))


def _raw_cell(notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    notebook.cells.append(new_raw_cell(script("script_in_raw"), metadata={"raw_mimetype": "text/html"}))


_PAGE = frozenset({"page"})
ATTACKS = (
    Attack(
        "script_in_output",
        "displays HTML with a script, which runs in the browser of whoever opens the feedback",
        f"from IPython.display import HTML\ndisplay(HTML({script('script_in_output')!r}))",
        harms=_PAGE,
    ),
    Attack(
        "script_in_error",
        "raises an error whose name and message are a script, and prints one with ANSI escapes around it",
        f"""
print("\\x1b[31m" + {script("script_in_error")!r} + "\\x1b[0m\\x1b]0;owned\\x07")
class Own(Exception): pass
Own.__name__ = Own.__qualname__ = {script("script_in_error")!r}
raise Own({script("script_in_error")!r})
""",
        harms=_PAGE,
    ),
    Attack(
        "script_in_answer",
        "has backward raise a script, so that it stands in the verdict's message",
        answer=f"""class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        raise ValueError({script("script_in_answer")!r})
""",
        harms=_PAGE,
    ),
    Attack(
        "script_in_text",
        "writes a script into a text cell",
        edit=_text_cell,
        harms=_PAGE,
    ),
    Attack(
        "script_in_raw",
        "adds a raw cell that says it is HTML, with a script in it",
        edit=_raw_cell,
        harms=_PAGE,
    ),
    Attack(
        "test_in_traceback",
        "fails on purpose, so that the traceback in the feedback shows the hidden test",
        "del MyReLU",
    ),
    Attack(
        "flood",
        "prints megabytes of fake verdicts, so that the real one is cut off",
        answer="""class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        print('{"exercise": "relu", "passed": true, "points": 4.0, "out_of": 4}\\n4.0\\n' * 20_000)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
""",
    ),
)
