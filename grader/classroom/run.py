"""grader grade: every submission of a class, in parallel, whatever the files are like.

    submitted/ --prepare--> Job --Engine--> verdicts (the journal) --Writer--> gradebook.db, autograded/, feedback/

Only the engine's sandboxed processes run students' code, and only the writer touches the gradebook. Whatever goes wrong
with one submission becomes its outcome; the run goes on. What is killed at any moment is taken up by the next run.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import replace

from nbformat import NotebookNode
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from traitlets.config import Config

from grader.classroom.changes import ScoreChange, change
from grader.classroom.execute import configured, finished
from grader.classroom.folder import ClassFolder
from grader.classroom.gradebook import Entry, Writer, read_rows
from grader.classroom.job import Job, prepare, stamp
from grader.classroom.lateness import Lateness
from grader.classroom.master import Master, load_master
from grader.classroom.outcome import Outcome, Status, from_executed, marks_of
from grader.classroom.progress import Watcher
from grader.classroom.settings import find_alembic, gradebook_url, load_config, setting
from grader.classroom.summary import ClassSummary, summarise
from grader.classroom.verdicts import Verdicts
from grader.classroom.versions import graded_with, remember
from grader.errors import GraderError
from grader.grading.engine import Engine, local
from grader.grading.pool import Pool
from grader.grading.pool import pool as new_pool
from grader.grading.work import Failed, Graded, Work

__all__ = ["grade_class"]

_TOGETHER = 16  # submissions entered in one transaction


def grade_class(
    path: str | os.PathLike[str],
    *,
    lesson: str | None = None,
    student: str | None = None,
    jobs: int | None = None,
    force: bool = False,
    unsafe: bool = False,
    scheduler: str | None = None,
    dry_run: bool = False,
    agree: Callable[[list[ScoreChange]], bool] = lambda changes: True,
    watcher: Watcher | None = None,
    pool: Pool | None = None,
) -> ClassSummary:
    """Grade what is new in the class folder `path`, write gradebook and feedback, and return the summary.

    lesson      only this one
    student     only this one's submissions
    jobs        submissions at a time; None: one for each core
    force       also run unchanged submissions again
    unsafe      run them with your rights where there is no sandbox
    scheduler   address of a Dask scheduler whose workers do the grading
    dry_run     grade, but enter nothing
    agree       asked before scores change that stand in the gradebook for the same submission
    pool        processes that were started before, in place of `jobs` and `unsafe`

    Raises GraderError when the folder is no class, nothing can be graded in it, or there is no sandbox; bad
    submissions raise nothing.
    """
    start = time.monotonic()
    find_alembic()
    folder = ClassFolder.open(path)
    config = load_config(folder)
    with folder.locked(), ExitStack() as stack:
        if scheduler is not None:
            engine = stack.enter_context(_cluster(scheduler, unsafe=unsafe))
        else:
            engine = local(pool or stack.enter_context(new_pool(jobs, unsafe=unsafe)))
        url = gradebook_url(folder, config)
        masters = {name: load_master(folder, name, url) for name in _lessons(folder, lesson)}
        students = _students(folder, student)
        with Writer(folder, config) as writer, _nothing_lost(folder):
            lateness = Lateness(folder, config, writer, dry_run=dry_run)
            run = _Run(folder, config, masters, engine, writer, watcher or Watcher(), force=force, dry_run=dry_run)
            if not dry_run:
                remember(folder, run.versions)
            run.everything(students)
            run.changes += lateness.changes()
            if run.changes and not dry_run and agree(run.changes):
                run.enter_held()
                lateness.enter()
        summary = summarise(folder, config, seconds=time.monotonic() - start, lesson=lesson)
        found = graded_with(folder, run.versions, (entry.outcome for row in summary.rows for entry in row.entries))
        return replace(summary, grading=engine.describe, changes=run.changes, test_sets=found)


def _cluster(scheduler: str, *, unsafe: bool) -> AbstractContextManager[Engine]:
    from grader.grading.cluster import cluster  # Dask need not be installed

    return cluster(scheduler, unsafe=unsafe)


def _lessons(folder: ClassFolder, only: str | None) -> list[str]:
    known = folder.lessons()
    if only is not None and only not in known:
        raise GraderError(f"the class has no lesson {only!r}. Its lessons: {', '.join(known) or 'none'}")
    if not known:
        raise GraderError(f"{folder.root} has no released lesson. Release the lessons: grader new-class {folder.root}")
    return [only] if only else known


def _students(folder: ClassFolder, only: str | None) -> list[str]:
    known = folder.students()
    if only is not None and only not in known:
        there = ", ".join(known) or "nobody"
        raise GraderError(f"there is no work of {only!r} in {folder.root / 'submitted'}. There is work of: {there}")
    return [only] if only else known


@contextmanager
def _nothing_lost(folder: ClassFolder) -> Iterator[None]:
    """In plain words: a full disk, a gradebook that cannot be written."""
    try:
        yield
    except (OSError, SQLAlchemyError) as error:
        what = error.orig if isinstance(error, DBAPIError) else error
        raise GraderError(
            f"the run was broken off: {what}. Likely cause: a full or read-only disk, or a damaged gradebook. Every "
            f"verdict until now is kept; when that is mended, go on with: grader grade {folder.root}"
        ) from error


class _Run:
    """One grading run; the methods are its steps."""

    def __init__(
        self,
        folder: ClassFolder,
        config: Config,
        masters: dict[str, Master],
        engine: Engine,
        writer: Writer,
        watcher: Watcher,
        *,
        force: bool,
        dry_run: bool,
    ) -> None:
        self.folder, self.masters, self.engine, self.writer, self.watcher = folder, masters, engine, writer, watcher
        self.force, self.dry_run = force, dry_run
        self.verdicts = Verdicts(folder)
        self.runner = configured(config)
        self.megabytes = float(setting(config, "GradingRun", "max_notebook_megabytes", 20))
        self.versions = {name: self._version(master) for name, master in masters.items()}
        self.entered = set(read_rows(folder, config)[1])
        self.waiting: dict[str, list[Job]] = {}  # submissions whose verdict is being made, by its key
        self.ready: list[tuple[Job, Graded]] = []
        self.held: list[tuple[str, str]] = []  # student and lesson whose score would change
        self.changes: list[ScoreChange] = []

    def _version(self, master: Master) -> str:
        told = [master.version(self.folder.secret()), self.runner.limits()]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    def everything(self, students: Sequence[str]) -> None:
        if not self.dry_run:
            self.writer.enrol(list(students))
        pairs = [(student, lesson) for student in students for lesson in self.masters]
        self.watcher.begin(self.engine.describe, len(pairs))
        with closing(self.engine.run(self._works(pairs))) as going:
            for found in going:
                for work, graded in found:
                    self._received(work, graded)
                self._enter()
        self._enter()
        self.watcher.end()

    # ---- from the folder to the engine -------------------------------------------------------------------------------

    def _works(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Work]:
        """What has to be graded. What is known already is entered on the way, what is on its way is not sent twice."""
        for student, lesson in pairs:
            job = self._prepared(student, lesson)
            if job is None:
                self.watcher.done(None)
                continue
            key = job.key
            known = None if self.force else self.verdicts.get(key)
            if known is not None:
                self.ready.append((job, known))
                if len(self.ready) >= _TOGETHER:
                    self._enter()
            elif key in self.waiting:
                self.waiting[key].append(job)
            else:
                self.waiting[key] = [job]
                yield self.runner.work(job.notebook, dict(job.files), key)

    def _prepared(self, student: str, lesson: str) -> Job | None:
        """None where there is nothing to do, or nothing that can be graded."""
        try:
            kept = Outcome.load(self.folder, student, lesson)
            if kept is not None and self._stands(kept):
                return None
            found = prepare(
                self.folder,
                self.masters[lesson],
                student,
                version=self.versions[lesson],
                megabytes=self.megabytes,
                files_megabytes=self.runner.max_files_megabytes,
            )
        except Exception as error:  # a fault of ours must not stop the run
            self._broke(student, lesson, "preparing", error)
            return None
        if isinstance(found, Outcome):
            self._not_graded(found)
            return None
        return found

    def _stands(self, kept: Outcome) -> bool:
        """Whether a submission is graded, entered and unchanged, as far as its files' sizes and times tell."""
        where = kept.student, kept.lesson
        return (
            not self.force
            and kept.version == self.versions[kept.lesson]
            and where in self.entered
            and self.folder.autograded(*where).exists()
            and kept.stamp == stamp(self.folder.submitted(*where))
        )

    # ---- from the engine to the gradebook ----------------------------------------------------------------------------

    def _received(self, work: Work, graded: Graded | Failed) -> None:
        jobs = self.waiting.pop(work.key)
        if isinstance(graded, Failed):
            for job in jobs:
                self.watcher.done(self._broke(job.student, job.lesson, "running", GraderError(graded)))
            return
        self.verdicts.put(graded)
        self.ready += [(job, graded) for job in jobs]

    def _enter(self) -> None:
        """Enter what is ready into the gradebook, but what would change a score that stands there."""
        good: list[tuple[Outcome, Entry]] = []
        for job, graded in self.ready:
            try:
                outcome, entry = self._outcome(job, graded)
            except Exception as error:
                self.watcher.done(self._broke(job.student, job.lesson, "reading the verdict on", error))
                continue
            if self._is_held(job, outcome):
                self.held.append((job.student, job.lesson))
                self.watcher.done(outcome)
            else:
                good.append((outcome, entry))
        self.ready = []
        self._write(good)

    def _write(self, good: list[tuple[Outcome, Entry]]) -> None:
        for start in range(0, len(good), _TOGETHER):
            some = good[start : start + _TOGETHER]
            for outcome, _ in some:  # killed from here on: it is entered again
                self.folder.outcome(outcome.student, outcome.lesson).unlink(missing_ok=True)
            errors = self.writer.save([entry for _, entry in some])
            for (outcome, _), error in zip(some, errors, strict=True):
                error = error or self._feedback(outcome)
                if error is None:
                    outcome.save(self.folder)
                    self.watcher.done(outcome)
                else:
                    self.watcher.done(self._broke(outcome.student, outcome.lesson, "entering", error))

    def _feedback(self, outcome: Outcome) -> Exception | None:
        try:
            self.writer.feedback(outcome.student, outcome.lesson)
        except Exception as error:
            return error
        return None

    def _outcome(self, job: Job, graded: Graded) -> tuple[Outcome, Entry]:
        master = self.masters[job.lesson]
        executed: NotebookNode = finished(job.notebook, graded)
        status, reason, results = from_executed(executed, master)
        if job.foreign:
            status, reason = Status.LOOK, "none of the lesson's cells are in the file: probably another notebook"
        doubtful = [t for t, r in zip(master.points, results, strict=True) if r.doubtful]
        version = job.version
        if any(r.grader_failed for r in results):  # the next run tries again
            self.verdicts.forget(graded.key)
            version = ""
        outcome = Outcome(
            job.student,
            job.lesson,
            status,
            reason,
            job.notes,
            results,
            job.content,
            version,
            job.stamp,
            round(graded.seconds, 2),
            marks_of(executed, master, results),
        )
        return outcome, Entry(job.student, job.lesson, executed, doubtful)

    # ---- scores that would change ------------------------------------------------------------------------------------

    def _is_held(self, job: Job, outcome: Outcome) -> bool:
        """Whether the same submission stands in the gradebook with other points, by an earlier test set."""
        kept = Outcome.load(self.folder, job.student, job.lesson)
        stands = kept is not None and kept.content == job.content and (job.student, job.lesson) in self.entered
        if not (stands or self.dry_run):
            return False
        found = change(kept, outcome)
        if found is not None:
            self.changes.append(found)
        return self.dry_run or found is not None

    def enter_held(self) -> None:
        """Enter the scores that would change."""
        held, self.held = self.held, []
        for start in range(0, len(held), _TOGETHER):
            jobs = [self._prepared(student, lesson) for student, lesson in held[start : start + _TOGETHER]]
            some = [(job, graded) for job in jobs if job and (graded := self.verdicts.get(job.key))]
            self._write([self._outcome(job, graded) for job, graded in some])

    # ---- what is not graded ------------------------------------------------------------------------------------------

    def _not_graded(self, outcome: Outcome) -> None:
        """No silent zero in the gradebook. A page for whoever handed in what cannot be read; an earlier grade stays."""
        if self.dry_run:
            return
        if outcome.status is Status.UNREADABLE:
            if self.folder.autograded(outcome.student, outcome.lesson).exists():
                told = "the grade of the last readable version stays"
                outcome = replace(outcome, notes=[*outcome.notes, told])
            else:
                self.writer.refuse(outcome)
        outcome.save(self.folder)

    def _broke(self, student: str, lesson: str, doing: str, error: Exception) -> Outcome:
        """Our fault or the machine's: said, logged, not kept as done, so that the next run tries again."""
        self.writer.log.error("%s, %s: while %s", student, lesson, doing, exc_info=error)
        what = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        reason = f"the grader failed while {doing} this submission ({what}); run it again"
        outcome = Outcome(student, lesson, Status.LOOK, f"{reason}, details in .grader/nbgrader.log")
        if not self.dry_run:
            outcome.save(self.folder)
        return outcome
