"""Asking at once what the checks of a battery will ask one by one: with a subject in another process turns cost, not
numbers.

What a right answer was asked is what the next one will be asked, for the seed decides the inputs. So the questions of
the first right answer are kept, and put to the others in one go. A check takes an answer only where it asks that very
question; whatever else it wants to know it asks itself.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.guard import TimeLimit
from grader.subject import ENDLESS, GONE, Observation, Probe, Subject

if TYPE_CHECKING:
    from grader.exercise import Exercise

__all__ = ["Foreseen", "Questions", "foresee", "kept", "questions_of", "same_question"]

Questions = dict[str, list[Probe]]
"""What was asked, by check, in order."""
Foreseen = dict[str, list[tuple[Probe, Observation]]]
"""The same with the answers."""


@lru_cache(maxsize=64)
def questions_of(exercise: Exercise, seed: int) -> Questions:
    """What a right answer is asked; empty, and to be filled, until one was seen."""
    return {}


def kept(probes: Sequence[Probe]) -> list[Probe]:
    """Copies to keep: some checks, torch's gradcheck among them, move their inputs about in place."""
    return copy.deepcopy(list(probes))


def foresee(questions: Questions, subject: Subject, seconds: float) -> Foreseen:
    """The answers of a subject, as far as they come within `seconds`; none where it replaced something of torch's.

    None either where turns cost nothing.
    """
    if not subject.distant:
        return {}
    asked = [(check, probe) for check, probes in questions.items() for probe in probes]
    found: Foreseen = {}
    try:
        with subject.watched(seconds) as replaced:
            while asked:
                answers = subject.observe_each([probe for _, probe in asked])  # up to the first that failed
                for (check, probe), seen in zip(asked, answers, strict=False):
                    if seen.failure is not None and seen.failure.type in (ENDLESS, GONE):
                        return found
                    found.setdefault(check, []).append((probe, seen))
                asked = asked[len(answers) :]
    except TimeLimit:
        return {}
    return {} if replaced else found


def same_question(a: Any, b: Any) -> bool:
    """Whether two probes, or two parts of them, ask for the same, whichever tensors hold the values."""
    if a is b:
        return True
    if isinstance(a, Probe):
        return isinstance(b, Probe) and same_question(tuple(vars(a).values()), tuple(vars(b).values()))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same_question, a, b))
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.dtype == b.dtype and (torch.equal(a, b) or _equal_with_nan(a, b))
    return type(a) is type(b) and bool(a == b)


def _equal_with_nan(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool(((a == b) | ((a != a) & (b != b))).all())
