"""Names the mistake: the known misconceptions that behave exactly as the implementation does.

Two comparisons. On a few probes the outputs and gradients must be the same (or the same kind of error).
Where values alone cannot tell, because the mistake lies in state, layout or side effects, the checks that
fail decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from torch import Tensor

from grader.contract.bench import Bench, Runs
from grader.contract.plain import unlike
from grader.exercise import Exercise, Misconception
from grader.inputs import Sample
from grader.local import LocalSubject
from grader.signatures import signature
from grader.subject import Observation, Probe, Subject

__all__ = ["behaviour", "diagnosis", "right_behaviour", "same_behaviour"]

Behaviour = list[tuple[Any, ...]]


def diagnosis(
    exercise: Exercise, subject: Subject, failed: frozenset[str], seed: int, runs: Runs | None = None
) -> tuple[Misconception, ...]:
    """The misconceptions that explain what was seen, best first; empty where none does.

    `runs`: what the battery saw of the common samples.
    """
    mine = behaviour(exercise, subject, seed, runs)
    right = right_behaviour(exercise, seed)
    values_right = same_behaviour(mine, right)
    same = [m for m in exercise.misconceptions if same_behaviour(mine, _known(exercise, m.id, seed))]
    if not values_right and len(same) <= 1:
        return tuple(same)
    kept = what_is_saved(exercise, subject, seed)
    fitting: list[tuple[int, bool, int, Misconception]] = []
    for order, misconception in enumerate(same):
        theirs = signature(exercise, misconception.id, seed)
        if values_right and not (theirs and theirs <= failed):
            continue
        saves_otherwise = _saved_by(exercise, misconception.id, seed) != kept
        fitting.append((len(theirs ^ failed), saves_otherwise, order, misconception))
    return tuple(f[-1] for f in sorted(fitting, key=lambda f: f[:3]))[:3]


def what_is_saved(exercise: Exercise, subject: Subject, seed: int) -> tuple[str, ...]:
    """What a Function keeps for backward, to tell apart mistakes that are the same in all else."""
    if exercise.kind == "plain":
        return ()
    return subject.observe(Probe(Bench(exercise, subject, seed, "saved").generic(), ask_saved=True)).facts.saved


@lru_cache(maxsize=2048)
def _saved_by(exercise: Exercise, misconception: str, seed: int) -> tuple[str, ...]:
    return what_is_saved(exercise, LocalSubject(_thing(exercise, misconception)), seed)


def behaviour(exercise: Exercise, subject: Subject, seed: int, runs: Runs | None = None) -> Behaviour:
    """What a subject answers on the diagnosis probes: values, or the kind of error.

    Code that draws random numbers is recognised where they are the same ones each time, as within a verdict.
    """
    bench = Bench(exercise, subject, seed, "diagnosis", known=runs)
    return [*_answers(bench), *(_answer_at_kink(bench, sample.args) for sample in exercise.inputs.at_kinks)]


def right_behaviour(exercise: Exercise, seed: int) -> Behaviour:
    """The reference's answers to the same probes."""
    bench = Bench(exercise, LocalSubject(None), seed, "diagnosis")
    answers: Behaviour = []
    for sample in _samples(bench):
        args = sample.args
        if exercise.reference.vjp is None:
            answers.append(("value", _digest(exercise, exercise.reference.forward(*args), args)))
        else:
            grads = bench.right_grads(args, bench.common_upstream(sample))
            answers.append(("run", bench.right_outputs(args), grads))
    return answers + [("value", bench.right_outputs(sample.args)) for sample in exercise.inputs.at_kinks]


def _samples(bench: Bench) -> tuple[Sample, ...]:
    """The inputs of the diagnosis."""
    return (*bench.ordinary(), *bench.variants()[:6])


def _answer_at_kink(bench: Bench, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The forward alone: which legal subgradient was chosen there names no mistake."""
    seen = bench.subject.observe(Probe(args))
    return _error(seen) or ("value", seen.outputs)


def _answers(bench: Bench) -> Iterator[tuple[Any, ...]]:
    samples = _samples(bench)
    if bench.exercise.reference.vjp is None:
        yield from (_value(bench, sample.args) for sample in samples)
    else:
        yield from (_run(seen, sample.args) for sample, seen in zip(samples, bench.answers(samples), strict=True))


def _value(bench: Bench, args: tuple[Any, ...]) -> tuple[Any, ...]:
    seen = bench.subject.call(args)
    if seen.failure is not None:
        return _error(seen) or ()
    return ("value", _digest(bench.exercise, seen.output if seen.single else seen.outputs, args))


def _run(seen: Observation, args: tuple[Any, ...]) -> tuple[Any, ...]:
    error = _error(seen)
    if error:
        returned = tuple(kind for one in seen.returned for kind, _, _ in one.items)
        return (*error, seen.outputs, returned)
    grads = tuple(
        None if g is None and not isinstance(a, Tensor) else g for g, a in zip(seen.grads[0], args, strict=True)
    )
    return ("run", seen.outputs, grads)


def _digest(exercise: Exercise, value: Any, args: tuple[Any, ...]) -> Any:
    return value if exercise.digest is None else exercise.digest(value, *args)


def _error(seen: Observation) -> tuple[Any, ...] | None:
    if seen.failure is None:
        return None
    first = (seen.failure.message.strip().splitlines() or [""])[0]
    return (
        "error",
        seen.failure.stage,
        seen.failure.type,
        re.sub(r"\w*Backward\b|\w+\.(?=forward|backward)|\d+", "#", first),
    )


def same_behaviour(a: Behaviour, b: Behaviour) -> bool:
    """Equal answers to every probe, up to rounding; None counts as a zero gradient."""
    return len(a) == len(b) and all(_same_answer(x, y) for x, y in zip(a, b, strict=True))


def _same_answer(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    return len(a) == len(b) and all(_same_part(x, y) for x, y in zip(a, b, strict=True))


def _same_part(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same_part(x, y) for x, y in zip(a, b, strict=True))
    if a is None or b is None:
        other = b if a is None else a
        return other is None or (isinstance(other, Tensor) and not bool((other != 0).any()))
    return not unlike(a, b, 1e-10)


def _known(exercise: Exercise, id: str, seed: int) -> Behaviour:
    return _known_behaviours(exercise, seed)[id]


@lru_cache(maxsize=64)
def _known_behaviours(exercise: Exercise, seed: int) -> dict[str, Behaviour]:
    return {m.id: behaviour(exercise, LocalSubject(m.thing), seed) for m in exercise.misconceptions}


def _thing(exercise: Exercise, misconception: str) -> Any:
    return next(m.thing for m in exercise.misconceptions if m.id == misconception)
