"""Runs an exercise's battery of checks on a subject and makes the report."""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.contract import CHECKS
from grader.contract.check import Bench, Check, Failed, failure_text
from grader.errors import IllPosedTest
from grader.exercise import Exercise
from grader.guard import TimeLimit, one_thread, time_limit, torch_unpatched
from grader.report import Finding, Report
from grader.subject import ENDLESS, Failure, Probe, Subject

__all__ = ["PUBLIC_SEED", "checks_of", "judge", "run_checks"]

PUBLIC_SEED = 2026
SECONDS_PER_CHECK = 10.0
_STAGES = ("value", "forward", "gradient", "contract")
_NOT_RUN = ("runs", "torch_untouched")


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


def run_checks(exercise: Exercise, subject: Subject, seed: int) -> Outcome:
    """Run the battery. After a call that fails, never ends, or meddles with torch, the rest is not
    reached."""
    outcome = Outcome()
    failure = _smoke(exercise, subject, seed, outcome)
    outcome.started = failure is None or failure.type != "NotImplementedError"
    if failure is not None and failure.type == ENDLESS:
        outcome.findings.append(Finding("runs", False, failure_text(failure, "an ordinary input")))
        outcome.complete = False
        return outcome
    for check in checks_of(exercise):
        finding = _run_one(check, Bench(exercise, subject, seed, check.id), outcome)
        if finding is not None:
            outcome.findings.append(finding)
        if finding is not None and not finding.passed and _blocks(finding, exercise, failure):
            outcome.complete = False
            break
    return outcome


def _run_one(check: Check, bench: Bench, outcome: Outcome) -> Finding | None:
    try:
        with torch_unpatched() as patched, time_limit(SECONDS_PER_CHECK):
            check.run(bench)
    except Failed as failed:
        if not patched:
            return Finding(check.id, False, str(failed))
    except TimeLimit as limit:
        return Finding(
            "runs",
            False,
            f"The check {check.id} did not come to an end: {limit}. Likely cause: an endless loop.",
        )
    except IllPosedTest as error:
        outcome.unjudged.append(f"{check.id}: {error}")
        return None
    if patched:
        names = ", ".join(patched[:3])
        return Finding(
            "torch_untouched",
            False,
            f"The code replaced {names}; that was undone, and nothing else was judged.",
        )
    return Finding(check.id, True)


def _smoke(exercise: Exercise, subject: Subject, seed: int, outcome: Outcome) -> Failure | None:
    """One ordinary call, for the remarks and to see whether it runs at all."""
    bench = Bench(exercise, subject, seed, "smoke")
    args = bench.generic()
    try:
        with torch_unpatched(), time_limit(SECONDS_PER_CHECK):
            if exercise.kind == "plain":
                seen = subject.call(args)
            else:
                seen = subject.observe(Probe(args, upstream=(bench.upstream(args),)))
    except TimeLimit as limit:
        return Failure("call" if exercise.kind == "plain" else "forward", ENDLESS, str(limit))
    if seen.facts.printed:
        outcome.remarks.append("Your code prints; the output is not shown while checking.")
    outcome.remarks += [f"A warning was raised: {w}" for w in seen.facts.warnings[:1]]
    return seen.failure


def _blocks(finding: Finding, exercise: Exercise, failure: Failure | None) -> bool:
    """Whether this failure leaves the later checks without sense."""
    if finding.check in {"runs", "torch_untouched", "differentiable"}:
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


def judge(exercise: Exercise, subject: Subject, seed: int = PUBLIC_SEED, *, diagnose: bool = True) -> Report:
    """The full verdict on a subject: checks, points and, where it failed, the diagnosis."""
    from grader.diagnosis import diagnosis

    with one_thread():
        outcome = run_checks(exercise, subject, seed)
        passed = not outcome.failed and outcome.complete
        known = (
            diagnosis(exercise, subject, outcome.failed, seed) if _explainable(outcome) and diagnose else ()
        )
    return Report(
        exercise=exercise.id,
        title=exercise.title,
        passed=passed,
        points=float(exercise.points) if passed else points_of(exercise, outcome),
        out_of=exercise.points,
        findings=tuple(outcome.findings),
        diagnosis=tuple(m.id for m in known),
        explanations=tuple(m.sentence for m in known),
        unjudged=tuple(outcome.unjudged),
        started=outcome.started,
        remarks=tuple(outcome.remarks),
    )
