"""Runs an exercise's battery of checks on a subject and makes the report."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import torch

from grader.contract import CHECKS
from grader.contract.bench import Bench, Runs
from grader.contract.check import Check, Failed, failure_text
from grader.contract.foresight import Questions, foresee, questions_of
from grader.errors import IllPosedTest
from grader.exercise import Exercise, Misconception
from grader.guard import FORKED, TimeLimit, one_thread, original_torch
from grader.report import Finding, Report
from grader.reproduction import reproduction
from grader.subject import ENDLESS, GONE, Failure, Observation, Subject
from grader.warm import warm

__all__ = ["PUBLIC_SEED", "checks_of", "judge", "run_checks"]

PUBLIC_SEED = 2026
SECONDS_PER_CHECK = 10.0
_STAGES = ("value", "forward", "gradient", "contract")
_NOT_RUN = ("runs", "torch_untouched")
_BLOCKING = frozenset({*_NOT_RUN, "differentiable"})  # after one of these has failed the rest is not reached


@dataclass
class Outcome:
    """What a battery run found, before points and diagnosis."""

    findings: list[Finding] = field(default_factory=list)
    unjudged: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    started: bool = True
    complete: bool = True

    @property
    def failed(self) -> frozenset[str]:
        return frozenset(f.check for f in self.findings if not f.passed)


def checks_of(exercise: Exercise) -> tuple[Check, ...]:
    """The checks that apply to an exercise, in the order they run; its own check replaces the built-in one
    of its id."""
    own = {c.id for c in exercise.checks}
    return (*(c for c in CHECKS if c.applies(exercise) and c.id not in own), *exercise.checks)


def run_checks(exercise: Exercise, subject: Subject, seed: int, known: Runs | None = None) -> Outcome:
    """Run the battery. After a call that fails, never ends, or meddles with torch, the rest is not
    reached. What became of the common samples is noted in `known`."""
    outcome = Outcome()
    known = {} if known is None else known
    failure = _smoke(Bench(exercise, subject, seed, "smoke", known=known), outcome)
    outcome.started = failure is None or not _unwritten(failure)
    if failure is not None and failure.type in (ENDLESS, GONE):
        outcome.findings.append(Finding("runs", False, failure_text(failure, "an ordinary input")))
    if outcome.findings:
        outcome.complete = False
        return outcome
    questions = questions_of(exercise, seed)
    foreseen = foresee(questions, subject, SECONDS_PER_CHECK) if failure is None else {}
    noted: Questions = {}
    for check in checks_of(exercise):
        asked = noted.setdefault(check.id, []) if subject.distant and not questions else None
        bench = Bench(exercise, subject, seed, check.id, known=known, foreseen=foreseen.get(check.id, ()), noted=asked)
        finding = _run_one(check, bench, outcome)
        if finding is not None:
            outcome.findings.append(finding)
        if finding is not None and not finding.passed and _blocks(finding, exercise, failure):
            outcome.complete = False
            break
    if outcome.failed:
        _ask_again(exercise, subject, seed, outcome)
    elif outcome.complete and not exercise.contract.random and not questions:
        questions.update(noted)
    return outcome


def _ask_again(exercise: Exercise, subject: Subject, seed: int, outcome: Outcome) -> None:
    """Values earn points though something else is wrong: not if they were right for the first calls only."""
    if exercise.kind == "plain" or outcome.failed & {"forward", "vjp"}:
        return
    bench = Bench(exercise, subject, seed)
    try:
        with subject.watched(SECONDS_PER_CHECK):
            failure = bench.answers(bench.ordinary()[:1])[0].failure
    except TimeLimit:
        return
    if failure is not None and failure.type in (ENDLESS, GONE):
        return  # a later call ended it all, which is said; what was earned before stays
    for place, finding in enumerate(outcome.findings):
        if finding.check in ("forward", "vjp") and finding.passed:
            check = next(c for c in checks_of(exercise) if c.id == finding.check)
            again = _run_one(check, Bench(exercise, subject, seed, check.id), Outcome())
            if again is not None and not again.passed:
                told = f"Right at first, wrong when asked again after other calls. {again.message}"
                outcome.findings[place] = replace(again, check=check.id, message=told)


def _run_one(check: Check, bench: Bench, outcome: Outcome) -> Finding | None:
    try:
        with bench.subject.watched(SECONDS_PER_CHECK) as patched:
            check.run(bench)
    except Failed as failed:
        if not patched:
            exercise = bench.exercise
            again = reproduction(exercise.symbol, check.id, bench.subject.last, exercise.reference.forward)
            return Finding("runs" if failed.endless else check.id, False, str(failed), again)
    except TimeLimit as limit:
        return Finding(
            "runs",
            False,
            f"The check {check.id} did not come to an end: {limit}. Likely cause: an endless loop.",
        )
    except IllPosedTest as error:
        outcome.unjudged.append(f"{check.id}: {error}")
        return None
    except Exception as error:  # what student code returned can be anything; nothing of it may stop a check
        text = f"What your code returned could not be worked with: {type(error).__name__}: {error}."
        return Finding(check.id, False, text)
    if patched:
        names = ", ".join(patched[:3])
        return Finding(
            "torch_untouched",
            False,
            f"The code replaced {names}; that was undone, and nothing else was judged.",
        )
    return Finding(check.id, True)


def _smoke(bench: Bench, outcome: Outcome) -> Failure | None:
    """One ordinary call, for the remarks and to see whether it runs at all."""
    plain = bench.exercise.kind == "plain"
    first = bench.ordinary()[:1]
    seen: Observation | None = None
    try:
        with bench.subject.watched(SECONDS_PER_CHECK):
            seen = bench.subject.call(first[0].args) if plain else bench.answers(first)[0]
    except TimeLimit as limit:
        if seen is not None and seen.failure is not None:
            return seen.failure
        return Failure("call" if plain else "forward", ENDLESS, str(limit))
    if FORKED in seen.facts.state_changes:
        text = "Your code made a copy of its own process (os.fork); the copy was ended, and nothing else was judged."
        outcome.findings.append(Finding("runs", False, text))
    if seen.facts.printed:
        outcome.remarks.append("Your code prints; the output is not shown while checking.")
    outcome.remarks += [f"A warning was raised: {w}" for w in seen.facts.warnings[:1]]
    return seen.failure


def _unwritten(failure: Failure) -> bool:
    """Whether it is the exercise's own stub that raised, not torch's NotImplementedError about what is missing."""
    raised = "raise NotImplementedError" in failure.line or not failure.message
    return failure.type == "NotImplementedError" and raised


def _blocks(finding: Finding, exercise: Exercise, failure: Failure | None) -> bool:
    """Whether this failure leaves the later checks without sense."""
    if finding.check in _BLOCKING:
        return True
    return finding.check in {"forward", "value"} and (failure is not None or bool(exercise.checks))


def points_of(exercise: Exercise, outcome: Outcome) -> float:
    """Each stage earns its share of the points if all its checks, and those of the stages before, ran and
    passed."""
    good = {f.check for f in outcome.findings if f.passed} | {text.split(":")[0] for text in outcome.unjudged}
    share = 0.0
    for stage in _STAGES:
        if not {c.id for c in checks_of(exercise) if c.stage == stage} <= good:
            break
        share += exercise.stages.get(stage, 0.0)
    return round(exercise.points * min(share, 1.0), 2) if outcome.started else 0.0


def _explainable(outcome: Outcome) -> bool:
    return bool(outcome.failed) and outcome.started and not outcome.failed & set(_NOT_RUN)


def _diagnosed(
    exercise: Exercise, subject: Subject, outcome: Outcome, seed: int, known: Runs
) -> tuple[Misconception, ...]:
    """The known mistakes that fit; none where the probes of the diagnosis do not come to an end."""
    from grader.diagnosis import diagnosis

    try:
        with subject.watched(3 * SECONDS_PER_CHECK):
            return diagnosis(exercise, subject, outcome.failed, seed, known)
    except (Exception, TimeLimit):
        return ()


@contextlib.contextmanager
def _same_random_numbers(seed: int) -> Iterator[None]:
    """Code that draws from torch's global generator draws the same numbers each time it is judged.

    What it draws tells nothing of `seed`, which stays secret.
    """
    world = hashlib.blake2b(f"world {seed}".encode(), digest_size=7).digest()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int.from_bytes(world, "big"))
        yield


def judge(exercise: Exercise, subject: Subject, seed: int = PUBLIC_SEED, *, diagnose: bool = True) -> Report:
    """The full verdict on a subject: checks, points and, where it failed, the diagnosis.

    How to repeat a failure is told for the public seed only: the numbers of other seeds are secret.
    """
    if exercise.kind == "function" and not subject.distant:
        warm()
    with one_thread(), original_torch(), _same_random_numbers(seed):
        runs: Runs = {}
        outcome = run_checks(exercise, subject, seed, runs)
        passed = not outcome.failed and outcome.complete
        known = _diagnosed(exercise, subject, outcome, seed, runs) if _explainable(outcome) and diagnose else ()
    return Report(
        exercise=exercise.id,
        title=exercise.title,
        passed=passed,
        points=float(exercise.points) if passed else points_of(exercise, outcome),
        out_of=exercise.points,
        findings=tuple(f if seed == PUBLIC_SEED else replace(f, reproduction="") for f in outcome.findings),
        diagnosis=tuple(m.id for m in known),
        explanations=tuple(m.sentence for m in known),
        unjudged=tuple(outcome.unjudged),
        started=outcome.started,
        remarks=tuple(outcome.remarks),
    )
