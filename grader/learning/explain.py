"""`explain("upstream_linearity")`: what an id in a report means, a check's or a misconception's."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from grader.contract.check import Check
from grader.learning.card import Card, message, nearest
from grader.learning.names import exercises

__all__ = ["explain"]


def explain(what: object = "") -> Card:
    """What a check or a misconception means, by its id as it stands in a report; or a whole report.

    A misconception known to several exercises is explained for each. An exercise's id gives its checks. An
    unknown id gets a message with the nearest ones, not an error.
    """
    if not isinstance(what, str):
        return _report(what)
    found = [*_as_check(what), *_as_misconception(what), *_as_exercise(what)]
    if found:
        return message(f"What `{what}` means", found)
    return _unknown(what)


def _all_checks() -> dict[str, Check]:
    """The battery's checks and the exercises' own, by id."""
    from grader.contract import CHECKS

    own = (check for exercise in exercises().values() for check in exercise.checks)
    return {check.id: check for check in (*CHECKS, *own)}


_BEFORE_ANY_CHECK = {
    "exercise": "No exercise goes by the name given to check, so nothing was checked.",
    "kind": "What was handed in is not the kind of thing the exercise asks for: an instance or `.apply` in "
    "place of the class, a class in place of a function, a variable that was overwritten. Nothing was run.",
}


def _as_check(id: str) -> Iterator[str]:
    if id in _BEFORE_ANY_CHECK:
        yield _BEFORE_ANY_CHECK[id]
    check = _all_checks().get(id)
    if check is not None:
        yield f"A check of the {check.stage}. {_unwrap(check.doc)}"


def _as_misconception(id: str) -> Iterator[str]:
    sentences: dict[str, list[str]] = {}
    for exercise in exercises().values():
        for misconception in exercise.misconceptions:
            if misconception.id == id:
                sentences.setdefault(misconception.sentence, []).append(f"`{exercise.id}`")
    for sentence, where in sentences.items():
        shown = where if len(where) <= 4 else [*where[:3], f"{len(where) - 3} more"]
        yield f"A classic mistake in {', '.join(shown)}. {sentence}"


def _as_exercise(id: str) -> Iterator[str]:
    exercise = exercises().get(id)
    if exercise is not None:
        names = [
            check.id
            for check in _all_checks().values()
            if check in exercise.checks or check.applies(exercise)
        ]
        yield f"An exercise of lesson {exercise.lesson}: {exercise.title}. You define `{exercise.symbol}`."
        yield f"It is held to these checks: {', '.join(f'`{name}`' for name in names)}."


def _report(report: object) -> Card:
    """The diagnosis of a report, then its failed checks."""
    findings = getattr(report, "findings", None)
    if findings is None:
        return message(
            f"Nothing to explain about this {type(report).__name__}",
            ['Give an id from a report: `explain("forward")`.'],
            mood="sorry",
        )
    ids = [*report.diagnosis, *(finding.check for finding in findings if not finding.passed)]  # type: ignore[attr-defined]
    if not ids:
        return message("Nothing to explain", ["Every check passed."])
    texts = [
        f"`{id}`: {text}" for id in dict.fromkeys(ids) for text in (*_as_check(id), *_as_misconception(id))
    ]
    return message("What the report says", texts)


def _unknown(id: str) -> Card:
    misconceptions = (wrong.id for exercise in exercises().values() for wrong in exercise.misconceptions)
    near = nearest(id, [*_all_checks(), *misconceptions, *exercises()])
    if near:
        advice = f"Did you mean {' or '.join(f'`{name}`' for name in near)}?"
    else:
        advice = "These checks can be explained: " + ", ".join(f"`{name}`" for name in _all_checks()) + "."
    title = f"Nothing here is called `{id}`" if id else "Explain what?"
    return message(title, ["Ids stand in the report of a check.", advice], mood="sorry")


def _unwrap(doc: str) -> str:
    """A docstring as running text, paragraphs kept."""
    return "\n".join(" ".join(part.split()) for part in inspect.cleandoc(doc).split("\n\n"))
