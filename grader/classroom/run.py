"""grader grade: every submission of a class, in parallel, whatever the files are like.

    submitted/ --find, repair--> .grader/staged --Executor--> executed --Writer--> gradebook.db, feedback/

Only the executor runs students' code, and only the writer touches the gradebook. Whatever goes wrong with one
submission becomes its outcome; the run goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import nbformat
from nbformat import NotebookNode
from traitlets.config import Config

from grader.classroom.execute import ExecuteLesson
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Writer, class_logger
from grader.classroom.handed_in import find
from grader.classroom.master import Master, load_master
from grader.classroom.outcome import Outcome, Status, from_executed
from grader.classroom.page import refusal_page
from grader.classroom.repair import belonging, repair
from grader.classroom.settings import find_alembic, load_config, setting
from grader.classroom.summary import ClassSummary, summarise
from grader.errors import GraderError

__all__ = ["Executor", "Job", "KernelExecutor", "grade_class"]

Say = Callable[[int, int, Outcome], None]


@dataclass(frozen=True)
class Job:
    """A repaired submission, staged and ready to be run. `key` stands for its content and the test set."""

    student: str
    lesson: str
    staged: Path
    key: str
    notes: list[str]
    foreign: bool  # none of the lesson's cells were in it


class Executor(Protocol):
    """Runs staged notebooks, in any order. The seam for other engines."""

    def run(self, jobs: list[Job]) -> Iterator[tuple[Job, NotebookNode | Exception, float]]:
        """Yield each job with its executed notebook (or what went wrong on our side) and the seconds it
        took."""
        ...


class KernelExecutor:
    """A fresh Jupyter kernel for each submission, `jobs` at a time."""

    def __init__(self, config: Config, *, jobs: int) -> None:
        steps = setting(config, "Autograde", "autograde_preprocessors", [])
        self.runner = next((s for s in steps if isinstance(s, type) and issubclass(s, ExecuteLesson)), ExecuteLesson)
        self.config, self.jobs = config, jobs
        self._running: set[ExecuteLesson] = set()
        self._lock = Lock()

    def run(self, jobs: list[Job]) -> Iterator[tuple[Job, NotebookNode | Exception, float]]:
        same: dict[str, list[Job]] = {}  # equal submissions (untouched ones, mostly) are run once
        for job in jobs:
            same.setdefault(job.key, []).append(job)
        with ThreadPoolExecutor(self.jobs) as pool:
            waiting: dict[Future[tuple[NotebookNode, float]], str] = {
                pool.submit(self._one, twins[0]): key for key, twins in same.items()
            }
            try:
                for done in as_completed(waiting):
                    error = done.exception()
                    result, seconds = (error, 0.0) if isinstance(error, Exception) else done.result()
                    for job in same[waiting.pop(done)]:
                        yield job, result, seconds
            finally:  # after Ctrl-C: start nothing more, end what runs
                pool.shutdown(wait=False, cancel_futures=True)
                self._stop()

    def _one(self, job: Job) -> tuple[NotebookNode, float]:
        """Run a job in a private copy of its folder, so that what it writes is gone afterwards."""
        start = time.monotonic()
        folder = job.staged.parent
        notebook = nbformat.read(job.staged, as_version=4)
        work = folder.with_name(folder.name + ".run")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(folder, work, ignore=shutil.ignore_patterns("*.ipynb"))
        runner = self.runner(config=self.config, log=class_logger_of(folder))
        with self._lock:
            self._running.add(runner)
        try:
            executed, _ = runner.preprocess(notebook, {"metadata": {"path": str(work)}})
        finally:
            with self._lock:
                self._running.discard(runner)
            shutil.rmtree(work, ignore_errors=True)
        return executed, time.monotonic() - start

    def _stop(self) -> None:
        with self._lock:
            for runner in self._running:
                runner.stop()


def class_logger_of(staged: Path) -> Any:
    """The log of the class that a staged folder (.grader/staged/student/lesson) belongs to."""
    return class_logger(ClassFolder(staged.parents[3]))


def grade_class(
    path: str | os.PathLike[str],
    *,
    lesson: str | None = None,
    jobs: int | None = None,
    force: bool = False,
    say: Say = lambda done, total, outcome: None,
) -> ClassSummary:
    """Grade what is new in the class folder `path`, write gradebook, feedback and report, and return the
    summary.

    lesson: only this one. jobs: kernels at a time (default: one per core). force: also run unchanged
    submissions again.
    say: called after each submission with how many are done, how many there are, and its outcome.
    Raises GraderError when the folder is no class or nothing can be graded in it; bad submissions raise
    nothing.
    """
    start = time.monotonic()
    find_alembic()
    folder = ClassFolder.open(path)
    config = load_config(folder)
    with folder.locked():
        lessons = _lessons(folder, lesson)
        masters = {name: load_master(folder, name) for name in lessons}
        executor = KernelExecutor(config, jobs=jobs or len(os.sched_getaffinity(0)))
        _Run(folder, config, masters, executor, force, say).everything()
        shutil.rmtree(folder.private / "staged", ignore_errors=True)
        return summarise(folder, config, seconds=time.monotonic() - start, lesson=lesson)


def _lessons(folder: ClassFolder, only: str | None) -> list[str]:
    known = folder.lessons()
    if only is not None and only not in known:
        raise GraderError(f"the class has no lesson {only!r}. Its lessons: {', '.join(known) or 'none'}")
    if not known:
        raise GraderError(f"{folder.root} has no released lesson. Release the lessons: grader new-class {folder.root}")
    return [only] if only else known


class _Run:
    """One grading run; the methods are its steps."""

    def __init__(
        self,
        folder: ClassFolder,
        config: Config,
        masters: dict[str, Master],
        executor: Executor,
        force: bool,
        say: Say,
    ) -> None:
        self.folder, self.config, self.masters, self.executor = folder, config, masters, executor
        self.force, self.say = force, say
        self.writer = Writer(folder, config)
        self.limit = float(setting(config, "GradingRun", "max_notebook_megabytes", 20))
        self.versions = {name: master.version(folder.secret()) for name, master in masters.items()}

    def everything(self) -> None:
        students = self.folder.students()
        self.writer.enrol(students)
        pairs = [(student, lesson) for student in students for lesson in self.masters]
        jobs = [job for student, lesson in pairs if (job := self.prepare(student, lesson))]
        for number, (job, result, seconds) in enumerate(self.executor.run(jobs), start=1):
            self.say(number, len(jobs), self.finish(job, result, seconds))

    def prepare(self, student: str, lesson: str) -> Job | None:
        """Find, read, repair and stage a submission. None when its outcome stands already."""
        try:
            return self._prepare(student, lesson)
        except Exception as error:  # a fault of ours must not stop the run
            self._broke(student, lesson, "preparing", error)
            return None

    def _prepare(self, student: str, lesson: str) -> Job | None:
        master, source = self.masters[lesson], self.folder.submitted(student, lesson)
        found = find(source, master, limit=self.limit)
        if found.problem is not None:
            self._refuse(Outcome(student, lesson, Status.UNREADABLE, found.problem, found.notes))
            return None
        if found.notebook is None:
            self._absent(student, lesson, found.notes)
            return None
        mended, notes = repair(found.notebook, master)
        key = self._key(source, mended, lesson)
        kept = Outcome.load(self.folder, student, lesson)
        if kept and kept.key == key and not self.force and self.folder.autograded(student, lesson).exists():
            return None
        staged = self._stage(student, lesson, source, mended)
        foreign = belonging(found.notebook, master) == 0
        return Job(student, lesson, staged, key, [*found.notes, *notes], foreign)

    def _stage(self, student: str, lesson: str, source: Path, mended: NotebookNode) -> Path:
        """A copy of the submission's folder with only the mended notebook in it."""
        target = self.folder.staged(student, lesson)
        shutil.rmtree(target, ignore_errors=True)
        leave = shutil.ignore_patterns("*.ipynb", ".ipynb_checkpoints", "__pycache__", "*.pyc")
        shutil.copytree(source, target, symlinks=True, ignore=lambda d, names: leave(d, names) | _special(d, names))
        for path in [target, *target.rglob("*")]:
            path.chmod(path.stat().st_mode | stat.S_IWUSR | stat.S_IRUSR | (stat.S_IXUSR if path.is_dir() else 0))
        file = target / f"{lesson}.ipynb"
        nbformat.write(mended, file)
        return file

    def _key(self, source: Path, mended: NotebookNode, lesson: str) -> str:
        """Stands for everything the verdict depends on: cells, helper files, time of submission, test set."""
        digest = hashlib.sha256(self.versions[lesson].encode())
        digest.update(json.dumps([[c.cell_type, c.source] for c in mended.cells]).encode())
        for path in sorted(source.rglob("*")):
            if path.is_file() and not path.is_symlink() and path.suffix != ".ipynb":
                digest.update(str(path.relative_to(source)).encode() + path.read_bytes())
        return digest.hexdigest()

    def finish(self, job: Job, result: NotebookNode | Exception, seconds: float) -> Outcome:
        """Enter an executed notebook into the gradebook and keep its outcome."""
        if isinstance(result, Exception):
            return self._broke(job.student, job.lesson, "running", result)
        try:
            return self._finish(job, result, seconds)
        except Exception as error:
            return self._broke(job.student, job.lesson, "entering", error)

    def _finish(self, job: Job, executed: NotebookNode, seconds: float) -> Outcome:
        master = self.masters[job.lesson]
        status, reason, results = from_executed(executed, master)
        if job.foreign:
            status, reason = (
                Status.LOOK,
                "none of the lesson's cells are in the file: probably another notebook",
            )
        doubtful = [t for t, r in zip(master.points, results, strict=True) if r.doubtful]
        self.folder.outcome(job.student, job.lesson).unlink(missing_ok=True)  # killed from here on: it is done again
        self.writer.save(job.student, job.lesson, executed, doubtful)
        key = "" if any(r.grader_failed for r in results) else job.key  # no key: the next run tries again
        outcome = Outcome(job.student, job.lesson, status, reason, job.notes, results, key, round(seconds, 2))
        outcome.save(self.folder)
        return outcome

    def _refuse(self, outcome: Outcome) -> None:
        """Unreadable: no silent zero in the gradebook, a page for the student, and an earlier grade stays."""
        if self.folder.autograded(outcome.student, outcome.lesson).exists():
            told = "the grade of the last readable version stays"
            outcome = replace(outcome, notes=[*outcome.notes, told])
        else:
            page = self.folder.feedback(outcome.student, outcome.lesson)
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(refusal_page(outcome), encoding="utf-8")
        outcome.save(self.folder)

    def _absent(self, student: str, lesson: str, notes: list[str]) -> None:
        """Not submitted; what was graded earlier and has been taken away since keeps its entry."""
        Outcome(student, lesson, Status.MISSING, notes[0] if notes else "").save(self.folder)

    def _broke(self, student: str, lesson: str, doing: str, error: Exception) -> Outcome:
        """Our fault or the machine's: said, logged, not kept as done, so that the next run tries again."""
        self.writer.log.error("%s, %s: while %s", student, lesson, doing, exc_info=error)
        reason = f"the grader failed while {doing} this submission ({type(error).__name__}: {error}); run it again"
        outcome = Outcome(student, lesson, Status.LOOK, f"{reason}, details in .grader/nbgrader.log")
        outcome.save(self.folder)
        return outcome


def _special(folder: str, names: list[str]) -> set[str]:
    """Links, sockets and pipes are not copied: a submission may not point out of itself."""
    paths = {name: Path(folder, name) for name in names}
    return {name for name, p in paths.items() if p.is_symlink() or not (p.is_file() or p.is_dir())}
