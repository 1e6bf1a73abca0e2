"""One submission being graded: its cells run in its own process, the test cells here, against proxies of its names.

A cell that hangs or ends the process is left out: the cells before it are run again in a new process, so that what they
define can still be judged. Nothing that a submission does is an exception here.
"""

from __future__ import annotations

import ast
import contextlib
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from grader.battery import PUBLIC_SEED
from grader.checking import verdict, with_where
from grader.contract.proxy import SubjectFailed
from grader.exercises import get
from grader.grading import messages
from grader.grading.cells import Capped
from grader.grading.channel import Channel, Kind
from grader.grading.names import MissingName, Names, RemoteName, SubmissionError
from grader.grading.remote import Link, Lost, Refused, RemoteSubject
from grader.grading.stand_ins import NotJudgedHere
from grader.grading.warm import KILLED
from grader.grading.wire import Opaque, ProtocolError
from grader.hidden import collected
from grader.report import Report
from grader.subject import ENDLESS, Failure

__all__ = ["LATE", "Cell", "Process", "Submission", "Tested"]

LATE = "not run"
"""The type of failure of what came after the submission's time was over."""
_OUTPUT_BYTES = 200_000
_CHUNK = 2**20
_SLOW = 2.0  # seconds on the clock after which no more pictures are looked for
_PACKAGE = str(Path(__file__).resolve().parents[1])
_BETWEEN = ("session.py", "names.py", "proxy.py", "remote.py")  # where what a submission returned may come to light


class Process(Protocol):
    """A process that runs `host.serve` on the other end of `channel()`'s socket."""

    def channel(self) -> Channel: ...

    def end(self, *, ended_itself: bool) -> str:
        """End it and all it started; how it ended in words, "" where it was still running."""


@dataclass
class Cell:
    """A code cell that was run: what it showed, how it failed, and whether it is left out of later runs."""

    name: str
    source: str
    output: str = ""
    failure: Failure | None = None
    left_out: bool = False


@dataclass(frozen=True)
class Tested:
    """What a test cell came to.

    points   the number that its last expression gave; None without one
    reports  the verdicts of its grade() calls, in order
    error    type and text of the error that ended it, or ""
    broken   the error is the grader's or the test cell's own, not the submission's
    shown    what it displayed, by MIME type
    """

    __test__ = False  # the name begins as those do that pytest collects

    output: str
    points: float | None
    reports: tuple[Report, ...]
    error: str
    broken: bool = False
    shown: tuple[Mapping[str, Any], ...] = ()


@dataclass
class Submission:
    """Runs cells and test cells, in whatever order they stand in the notebook.

    start          makes a new process
    files          files of its working folder, by relative path
    secret         the class's, for the seeds of hidden tests
    cell_seconds   processor time of one cell
    seconds        time on the clock for all of it; what comes later is not run
    restarts       how many processes may be lost before no new one is started
    """

    start: Callable[[], Process]
    files: Mapping[str, bytes] = field(default_factory=dict)
    secret: str | None = None
    cell_seconds: float = 30.0
    seconds: float = 300.0
    restarts: int = 8
    cells: list[Cell] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        self.deadline = self._began + self.seconds
        self._pictures = True
        self._link: Link | None = None
        self.killed = False  # whether one of its processes was ended from outside; it cannot do that itself

    # ---- the student's cells -----------------------------------------------------------------------------------------

    def run(self, source: str, name: str = "") -> Cell:
        """Run a code cell of the submission. Its failure is in what is returned."""
        cell = Cell(name or f"cell {len(self.cells) + 1}", source)
        if time.monotonic() > self.deadline:
            cell.failure, cell.left_out = Failure("cell", LATE, self._too_late()), True
            return cell
        try:
            self._run(self._process(), cell)
        except Lost as lost:
            self._leave_out(cell, lost)
        self.cells.append(cell)
        return cell

    def _too_late(self) -> str:
        return f"the submission took more than {self.seconds:g} s, so the rest of it was not run"

    def _run(self, link: Link, cell: Cell) -> None:
        until = time.monotonic() + 3 * self.cell_seconds + 5.0
        try:
            ran = link.ask(Kind.CELL, cell.source, cell.name, self.cell_seconds, until=until)
            cell.output, cell.failure = messages.ran(ran)
        except Refused as refused:
            cell.failure = refused.failure
        except ProtocolError as error:
            cell.failure = Failure("cell", "ProtocolError", str(error))

    def _leave_out(self, cell: Cell, lost: Lost) -> None:
        if lost.kind == ENDLESS:
            text = "it did not come to an end, and did not react to the time limit"
        else:
            text = f"it ended the whole Python process: {lost}"
        cell.failure, cell.left_out = Failure("cell", lost.kind, text), True

    def _process(self) -> Link:
        """The conversation with a process in which every cell so far was run, but those left out."""
        while self._link is None or (self._link.lost is not None and self.restarts > 0):
            again = self._link is not None
            self._link = self._started()
            self.restarts -= again
            self._send_files(self._link)
            for cell in [c for c in self.cells if not c.left_out]:
                try:
                    self._run(self._link, cell)
                except Lost as lost:
                    self._leave_out(cell, lost)
                    break
        return self._link

    def _started(self) -> Link:
        process = self.start()
        return Link(process.channel(), lambda itself: self._ended(process, itself), self.deadline)

    def _ended(self, process: Process, itself: bool) -> str:
        how = process.end(ended_itself=itself)
        self.killed = self.killed or (itself and how in ("", KILLED))
        return how

    def _send_files(self, link: Link) -> None:
        """Write the files into the process's working folder. One that does not fit there is missing there."""
        with contextlib.suppress(Lost):
            for name, data in self.files.items():
                with contextlib.suppress(Refused):
                    for start in range(0, max(len(data), 1), _CHUNK):
                        part = torch.from_numpy(np.frombuffer(data[start : start + _CHUNK], np.uint8).copy())
                        link.ask(Kind.FILE, name, part, start > 0, until=time.monotonic() + 20.0)

    # ---- the instructor's test cells ---------------------------------------------------------------------------------

    def test(self, source: str) -> Tested:
        """Run a test cell here, against proxies of the submission's names."""
        if time.monotonic() > self.deadline:
            return Tested("", None, (), f"{LATE}: {self._too_late()}")
        printed, shown = Capped(_OUTPUT_BYTES), _Shown()
        value, error, broken = None, "", False
        with collected(self.secret) as judged, contextlib.redirect_stdout(printed):
            try:
                value = _execute(source, self._names(source, shown))
            except (SubmissionError, SubjectFailed) as problem:
                error = f"{problem.failure.type}: {problem}"[:2000]
            except Exception as problem:
                error, broken = f"{type(problem).__name__}: {problem}"[:2000], _is_ours(problem)
        reports = tuple(report for report, _ in judged)
        if any(f.check == "runs" for report in reports for f in report.failed):
            self.close()  # what forks or hangs may have left something behind; the next exercise gets a new process
        else:
            reports = tuple(self._with_where(report, thing) for report, thing in judged)
        points = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
        return Tested(printed.getvalue(), points, reports, error, broken, tuple(shown.data))

    def _with_where(self, report: Report, thing: Any) -> Report:
        """The report with what a picture is drawn from. It costs neither time nor restarts, whatever the code does."""
        link = self._link
        if not self._pictures or link is None or link.lost is not None or not isinstance(thing, RemoteName):
            return report
        began = time.monotonic()
        found = with_where(get(report.exercise), thing, report)
        spent = time.monotonic() - began
        if link.lost is not None or spent > _SLOW:
            self.close()
            self._pictures = False
            self.restarts += 1
            self.deadline += began - self._began  # as long as it may take to run its cells again
        self.deadline += spent
        link.deadline = self.deadline
        return found

    def _names(self, source: str, shown: _Shown) -> Names:
        """The names of a test cell."""
        # check() shows a learner what grade() finds out with other numbers: once is enough.
        helpers = dict.fromkeys(("hint", "explain", "progress"), _not_judged)
        return Names(
            self.find, display=shown.display, check=_not_judged if "grade(" in source else _public_verdict, **helpers
        )

    def find(self, name: str) -> Any:
        """What the submission's name stands for here: a plain value itself, else a proxy of it."""
        try:
            link, found = self._opened(name)
            if found is None:
                return MissingName(name, self._why_missing(name))
            description, value, number = messages.opened(found)
        except (Lost, Refused, ProtocolError) as error:
            return MissingName(name, f" ({error})")
        if description.kind == "value" and not isinstance(value, Opaque):
            return value
        return RemoteName(name, description, RemoteSubject(link, number, description.kind == "function class"))

    def _opened(self, name: str) -> tuple[Link, Any]:
        for last in (False, True):
            link = self._process()
            try:
                return link, link.ask(Kind.OPEN, name, until=time.monotonic() + 20.0)
            except Lost:  # what an earlier answer left behind may come to light only now
                if last:
                    raise
        raise AssertionError

    def _why_missing(self, name: str) -> str:
        """What became of the last cell that defines the name."""
        for cell in reversed(self.cells):
            if name not in _defined_in(cell.source):
                continue
            if cell.left_out and cell.failure is not None:
                return f" (its cell was left out: {cell.failure.message})"
            if cell.failure is not None:
                return f" (its cell raised {cell.failure})"
        return ""

    def close(self) -> None:
        """End the submission's process."""
        if self._link is not None:
            self._link.close()

    def __enter__(self) -> Submission:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _execute(source: str, names: Names) -> Any:
    """Run a test cell; the value of its last line if that is an expression."""
    tree = ast.parse(source, "<test cell>")
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<test cell>", "exec"), names, names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<test cell>", "eval"), names, names)


class _Shown:
    """What a test cell displays."""

    def __init__(self) -> None:
        self.data: list[Mapping[str, Any]] = []

    def display(self, *values: Any, raw: bool = False, **_: Any) -> None:
        for value in values:
            if raw and isinstance(value, dict):
                self.data.append(value)
            else:
                print(value)


def _not_judged(*_: Any, **__: Any) -> NotJudgedHere:
    return NotJudgedHere()


def _public_verdict(exercise: str, thing: Any) -> Report:
    return verdict(get(exercise), thing, PUBLIC_SEED)


def _is_ours(problem: Exception) -> bool:
    """Whether an error is the grader's or the test cell's own fault, rather than what a test found."""
    if isinstance(problem, (ImportError, SyntaxError)):
        return True
    files = (frame.f_code.co_filename for frame, _ in traceback.walk_tb(problem.__traceback__))
    return any(file.startswith(_PACKAGE) and not file.endswith(_BETWEEN) for file in files)


def _defined_in(source: str) -> set[str]:
    """Names that the top level of a cell binds."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return {line.split("(")[0].split(":")[0].split()[1] for line in source.splitlines() if _is_head(line)}
    names = {n.name for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    targets = [t for n in body if isinstance(n, ast.Assign) for t in n.targets]
    return names | {t.id for t in targets if isinstance(t, ast.Name)}


def _is_head(line: str) -> bool:
    """Whether a line of a cell that is not valid Python begins a class or a function."""
    return line.startswith(("class ", "def ")) and len(line.split()) > 1
