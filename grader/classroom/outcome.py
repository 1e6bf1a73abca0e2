"""What became of one submission, kept as a small JSON file: an unchanged submission is not run again."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from nbformat import NotebookNode

from grader.classroom.folder import ClassFolder, write_atomically
from grader.classroom.likeness import marks
from grader.classroom.master import Master, grade_id, is_test
from grader.grading.outputs import DIED, GRADER_FAILED, NO_RESULT, NOT_RUN, STOPPED, problem, score, verdict

__all__ = [
    "UNWRITTEN",
    "ExerciseResult",
    "Outcome",
    "Status",
    "forget_stamps",
    "from_executed",
    "marks_of",
    "result_of",
]


class Status(StrEnum):
    GRADED = "graded"
    LOOK = "needs-a-look"
    UNREADABLE = "unreadable"
    MISSING = "not submitted"


@dataclass(frozen=True)
class ExerciseResult:
    """One exercise. `diagnosis` has misconception ids, best first; `failed` the names of checks that did
    not pass; `problem` is why the test cell gave no score, in words."""

    exercise: str
    points: float
    out_of: float
    passed: bool
    diagnosis: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def doubtful(self) -> bool:
        """The test ran but gave nothing that can be taken for a score: entered as 0, a person should look."""
        return self.problem.startswith(WORDS[NO_RESULT])

    @property
    def grader_failed(self) -> bool:
        """Not the student's fault: worth another try."""
        return self.doubtful and GRADER_FAILED in self.problem


@dataclass(frozen=True)
class Outcome:
    """One submission.

    reason    one sentence for people
    notes     what was mended
    content, version   stand for what was handed in and for the test set; "": to be graded again
    stamp     stands for the files' sizes and times
    answers   by exercise the marks of its answer (see likeness.py), with spaces between them
    """

    student: str
    lesson: str
    status: Status
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    exercises: list[ExerciseResult] = field(default_factory=list)
    content: str = ""
    version: str = ""
    stamp: str = ""
    seconds: float = 0.0
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def points(self) -> float:
        return sum(result.points for result in self.exercises)

    def save(self, folder: ClassFolder) -> None:
        write_atomically(folder.outcome(self.student, self.lesson), json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def load(cls, folder: ClassFolder, student: str, lesson: str) -> Outcome | None:
        """The kept outcome, None when there is none or it is damaged."""
        found = folder.read_json(str(folder.outcome(student, lesson).relative_to(folder.private)))
        try:
            return cls.from_dict(found) if found else None
        except (KeyError, TypeError, ValueError):
            return None

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Outcome:
        exercises = [ExerciseResult(**each) for each in found.pop("exercises", [])]
        return cls(**{**found, "status": Status(found["status"]), "exercises": exercises})


def forget_stamps(folder: ClassFolder) -> None:
    """Have the next run look at, and enter, every submission again: the gradebook may not have what was kept here."""
    for path in (folder.private / "outcomes").glob("*/*.json"):
        kept = Outcome.load(folder, path.parent.name, path.stem)
        if kept is not None:
            replace(kept, stamp="").save(folder)


UNWRITTEN = "not written yet"
UNJUDGED = "could not be judged"  # what the one finding of a report says that could not be made

WORDS = {
    DIED: "its code ended the whole Python process",
    STOPPED: "it did not finish in time",
    NOT_RUN: "it was not run: time limit of the submission",
    "EOFError": "it waits for input(); remove that line",
    "NotImplementedError": UNWRITTEN,
    NO_RESULT: "the hidden test gave no usable result",
}
_TROUBLE = (DIED, STOPPED, NOT_RUN)


def from_executed(notebook: NotebookNode, master: Master) -> tuple[Status, str, list[ExerciseResult]]:
    """Status, reason and the exercises' results of an executed notebook."""
    cells = {grade_id(cell): cell for cell in notebook.cells if grade_id(cell)}
    results = [
        result_of(cells[name], points, master.solution_of(name) or name) for name, points in master.points.items()
    ]
    doubtful = [r.exercise for r in results if r.doubtful]
    trouble = _trouble(notebook)
    if doubtful:
        why = next(r.problem for r in results if r.doubtful)
        return Status.LOOK, f"{', '.join(doubtful)} entered as 0: {why}", results
    trouble += [f"{r.exercise}: {r.problem}" for r in results if "runs" in r.failed and r.problem]
    return Status.GRADED, "; ".join(trouble), results


def marks_of(notebook: NotebookNode, master: Master, results: list[ExerciseResult]) -> dict[str, str]:
    """The marks of the answers in a notebook, by exercise; exercises that nobody has begun are left out."""
    sources = {grade_id(cell): cell.source for cell in notebook.cells if grade_id(cell)}
    found = {}
    for test, result in zip(master.points, results, strict=True):
        answer = master.solution_of(test)
        if answer in sources and result.problem != UNWRITTEN:
            found[result.exercise] = " ".join(marks(sources[answer], master.released.get(answer, "")))
    return {exercise: each for exercise, each in found.items() if each}


def result_of(cell: NotebookNode, points: float, exercise: str) -> ExerciseResult:
    """The result in a test cell that has been run. exercise: what it tests, where its verdict does not say."""
    told, error = verdict(cell.outputs) or {}, problem(cell.outputs)
    earned = 0.0 if error else (score(cell.outputs) or 0.0)
    failed = [str(finding.get("check")) for finding in _failed(told)]
    diagnosis = [str(d) for d in _list(told, "diagnosis")]
    why = _in_words(error) or _unjudged(told) or ("" if diagnosis else _unwritten(told)) or _not_run(told)
    name = str(told.get("exercise") or exercise)
    return ExerciseResult(name, earned, points, earned >= points, diagnosis, failed, why)


def _unjudged(told: dict[str, Any]) -> str:
    """Says so when the battery itself gave up: a class that raises on sight, or a fault of ours."""
    messages = [str(finding.get("message")) for finding in _failed(told)]
    return next((f"{WORDS[NO_RESULT]}: {text}" for text in messages if UNJUDGED in text), "")


def _unwritten(told: dict[str, Any]) -> str:
    """Says so when the checks met nothing but the stub."""
    messages = [str(finding.get("message")) for finding in _failed(told)]
    return UNWRITTEN if any("NotImplementedError" in message for message in messages) else ""


def _not_run(told: dict[str, Any]) -> str:
    """Says so when there was nothing to judge, or when it ended or did not end the process that ran it."""
    return next((str(f.get("message"))[:300] for f in _failed(told) if f.get("check") in ("kind", "runs")), "")


def _failed(told: dict[str, Any]) -> list[dict[str, Any]]:
    return [f for f in _list(told, "findings") if isinstance(f, dict) and not f.get("passed", True)]


def _list(told: dict[str, Any], name: str) -> list[Any]:
    """A list from a record that student code may have tampered with."""
    found = told.get(name)
    return found if isinstance(found, list) else []


def _in_words(error: tuple[str, str] | None) -> str:
    if error is None:
        return ""
    name, text = error
    words = WORDS.get(name)
    if name == NO_RESULT:
        return f"{words}: {text.rpartition('result: ')[2]}"
    return words or f"{name}: {text}"[:300]


def _trouble(notebook: NotebookNode) -> list[str]:
    """What a person may want to know about single cells: time limits and ended processes."""
    found = []
    for number, cell in enumerate(notebook.cells, start=1):
        error = problem(cell.outputs) if cell.cell_type == "code" else None
        if error and error[0] in _TROUBLE:
            found.append(f"{_where(cell, number)}: {error[1]}")
    return found


def _where(cell: NotebookNode, number: int) -> str:
    if not grade_id(cell):
        return f"cell {number}"
    return f'the {"test" if is_test(cell) else "answer"} cell "{grade_id(cell)}"'
