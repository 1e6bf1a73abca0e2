"""What a feedback page says: the graded notebook taken apart into exercises, each with its code, verdict and points.

The text of a test cell, its traceback and what `grade` printed in it never get here: a page can only show what is here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from nbformat import NotebookNode

from grader.classroom.master import grade_id
from grader.classroom.outcome import UNWRITTEN, ExerciseResult, result_of
from grader.classroom.picture import Picture, picture
from grader.grading.outputs import problem, verdict
from grader.outline import outlines

__all__ = ["Code", "Part", "extras", "parts"]

LONGEST = 20_000  # characters of a cell that are shown
MOST = 4_000  # characters of what a cell printed
MOST_CELLS = 40  # of the student's own beside the answers
RIGHT, PARTLY, WRONG, TODO, LOOK, BY_HAND = "right", "partly", "wrong", "todo", "look", "by hand"


@dataclass(frozen=True)
class Code:
    """A cell of the student's. printed: what it showed; error: how it failed. text: it holds prose, not code."""

    source: str
    printed: str = ""
    error: str = ""
    text: bool = False


@dataclass(frozen=True)
class Part:
    """One graded cell with the answers that it grades.

    state      right, partly, wrong, todo (not written), look (could not be judged) or by hand
    tests_gave the points by the tests, where a person has given others; None elsewhere
    sentence   the named mistake, as it is said to its author
    problem    why the tests gave no score, in words
    findings   (check, message) of each check that failed
    checks     how many checks were made
    printed    what a test printed that leaves no verdict
    known      whether hint() and explain() have something on it
    """

    name: str
    title: str
    state: str
    points: float
    out_of: float
    tests_gave: float | None = None
    sentence: str = ""
    mistake: str = ""
    problem: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    checks: int = 0
    printed: str = ""
    known: bool = False
    picture: Picture | None = None
    answers: list[Code] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Points in percent of what can be had."""
        return min(100.0, 100.0 * self.points / self.out_of) if self.out_of else 0.0


def parts(notebook: NotebookNode) -> list[Part]:
    """The graded cells of a notebook that GetGrades has written points and comments into, in their order."""
    found: list[Part] = []
    answers: list[NotebookNode] = []
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution") or about.get("task"):
            answers.append(cell)
        if about.get("grade") or about.get("task"):
            found.append(_part(cell, answers))
            answers = []
    return found + [_ungraded(cell) for cell in answers]


def extras(notebook: NotebookNode, given: frozenset[str]) -> list[Code]:
    """The student's own cells beside the answers; given: the text of all cells that the lesson came with."""
    cells = (cell for cell in notebook.cells if not grade_id(cell) and cell.source.strip())
    return [_code(cell) for cell in islice((c for c in cells if c.source not in given), MOST_CELLS)]


def _part(cell: NotebookNode, answers: list[NotebookNode]) -> Part:
    about = cell.metadata.nbgrader
    points, out_of = float(about.get("score") or 0.0), float(about.get("points") or 0.0)
    shown = [_code(answer) for answer in answers]
    comments = _comments(answers)
    if about.get("solution") or about.get("task"):
        return Part(grade_id(cell), grade_id(cell), BY_HAND, points, out_of, answers=shown, comments=comments)
    told = verdict(cell.outputs) or {}
    result = result_of(cell, out_of, grade_id(answers[-1]) if answers else grade_id(cell))
    known = outlines().get(result.exercise)
    mistake = next(iter(result.diagnosis), "")
    return Part(
        result.exercise,
        known.title if known else result.exercise,
        _state(result),
        points,
        out_of,
        None if points == result.points else result.points,
        known.mistakes.get(mistake, "") if known else "",
        mistake,
        result.problem,
        [(str(f.get("check")), str(f.get("message"))) for f in _findings(told) if not f.get("passed", True)],
        len(list(_findings(told))),
        "" if told else _printed(cell)[:MOST],
        known is not None,
        picture(told),
        shown,
        comments,
    )


def _ungraded(answer: NotebookNode) -> Part:
    """An answer that no test follows."""
    name = grade_id(answer)
    return Part(name, name, BY_HAND, 0.0, 0.0, answers=[_code(answer)], comments=_comments([answer]))


def _comments(answers: list[NotebookNode]) -> list[str]:
    """What a person wrote, without what nbgrader writes itself under an untouched cell."""
    found = (str(answer.metadata.nbgrader.get("comment") or "") for answer in answers)
    return [comment for comment in found if comment not in ("", "No response.")]


def _state(result: ExerciseResult) -> str:
    if result.passed:
        return RIGHT
    if result.doubtful:
        return LOOK
    if result.problem == UNWRITTEN:
        return TODO
    return PARTLY if result.points else WRONG


def _findings(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found = told.get("findings")
    return (f for f in found if isinstance(f, Mapping)) if isinstance(found, list) else iter(())


def _code(cell: NotebookNode) -> Code:
    source = cell.source if len(cell.source) <= LONGEST else f"{cell.source[:LONGEST]}\n# ... the rest is left out here"
    if cell.cell_type != "code":
        return Code(source, text=True)
    failed = problem(cell.outputs)
    printed = _printed(cell)
    cut = "" if len(printed) <= MOST else "\n... the rest is left out here"
    return Code(source, printed[:MOST] + cut, ": ".join(filter(None, failed or ())))


def _printed(cell: NotebookNode) -> str:
    return "".join(out.text for out in cell.outputs if out.output_type == "stream").strip("\n")
