"""`solution("relu")`: the right ways to do an exercise, what each keeps for backward, and why one would choose it.

The ways are the exercise's right variants that say why (see grader/exercises). What they keep is observed when
asked, on a sample input, by the same LocalSubject that checks answers.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.battery import PUBLIC_SEED
from grader.errors import GraderError
from grader.exercise import Args, Exercise, Variant
from grader.inputs import Draw
from grader.learning import journal
from grader.learning.card import Card, block, inline, message
from grader.learning.names import exercise_named
from grader.learning.standing import Standing, standing
from grader.local import LocalSubject
from grader.subject import Facts, Probe

__all__ = ["ATTEMPTS", "SWITCH", "measured", "sample_of", "solution", "source_of", "ways"]

ATTEMPTS = 3
"""So many different answers must have been checked before the solution of an unsolved exercise is shown."""

SWITCH = "no-solutions"
"""A file of this name beside the lesson or in a folder above it turns solutions off; so does GRADER_SOLUTIONS=off."""


def solution(exercise: object = "", *, give_up: bool = False) -> Card:
    """Two or three right ways, once the exercise is passed, given by its id ("relu") or its class or function.

    give_up   show them before that; it takes three honest attempts: checks of three different answers

    That it was looked at is recorded. In a grading run, or where a class has turned solutions off, it says so.
    """
    if "GRADER_CLASS_SECRET" in os.environ:
        return message("No solutions in a grading run", mood="sorry")
    try:
        found = exercise_named(exercise)
    except GraderError as error:
        return message("No solution", [str(error)], mood="sorry")
    if turned_off():
        reason = "Whoever teaches this class has turned them off. `hint` and `explain` work as ever."
        return message("No solutions here", [reason], mood="sorry")
    state = standing(found.id)
    refusal = _not_yet(found, state, give_up=give_up)
    if refusal is not None:
        return refusal
    if not state.solution:
        journal.append({"kind": "solution", "exercise": found.id, "passed": state.passed})
    return _show(found)


def turned_off() -> bool:
    """Whether a class has turned solutions off: by GRADER_SOLUTIONS=off, or by a file here or in a folder above."""
    if os.environ.get("GRADER_SOLUTIONS", "").lower() == "off":
        return True
    try:
        here = Path.cwd()
        return any((folder / SWITCH).exists() for folder in (here, *here.parents))
    except OSError:
        return False


def ways(exercise: Exercise) -> list[Variant]:
    """The right variants that are shown: those that say why one would choose them."""
    return [variant for variant in exercise.variants if variant.why]


_IMPORTS = {
    "np": "import numpy as np",
    "F": "import torch.nn.functional as F",
    "once_differentiable": "from torch.autograd.function import once_differentiable",
}


def source_of(way: Variant) -> str:
    """The text of a way, with what a lesson may not have imported in front of it."""
    source = (way.source or "").rstrip()
    front = [line for name, line in _IMPORTS.items() if re.search(rf"(?<![\w.]){name}\b", source)]
    return "\n".join([*front, *([""] if front else []), source])


def sample_of(exercise: Exercise) -> Args:
    """The input on which the ways are compared: the exercise's large sample, or an ordinary one."""
    return (exercise.inputs.large or exercise.inputs.generic)(Draw(PUBLIC_SEED))


def measured(thing: Any, args: Args) -> Facts:
    """What a Function keeps for backward after one call on `args`: saved_bytes, and in `saved` what the tensors are."""
    return LocalSubject(thing).observe(Probe(args, ask_saved=True)).facts


def _not_yet(exercise: Exercise, state: Standing, *, give_up: bool) -> Card | None:
    """Why the solution is not shown yet, with what to do; None if it is."""
    if state.passed or (give_up and state.attempts >= ATTEMPTS):
        return None
    id, left = exercise.id, ATTEMPTS - state.attempts
    texts = [f"It is shown when `{id}` is passed, or when you give up after {ATTEMPTS} different answers were checked."]
    if left > 0:
        texts.append(f"So far: {state.attempts}. An attempt counts if it does not raise NotImplementedError any more.")
    else:
        texts.append(f'You have tried often enough. To see it now: `solution("{id}", give_up=True)`.')
    if state.hints < len(exercise.hints):
        texts.append(f'Before that: `hint("{id}")` has {len(exercise.hints) - state.hints} more for you.')
    return message(f"The solution of {id} is still folded", texts, mood="hint")


# ---- the card --------------------------------------------------------------------------------------------------------


def _show(exercise: Exercise) -> Card:
    shown, args = ways(exercise), sample_of(exercise)
    compared = exercise.kind == "function"
    title = f"{exercise.id}: {_count(len(shown))}"
    intro = f"What each keeps for backward was measured just now on {_described(args)}." if compared else ""
    texts, blocks = [title, *([f"  {intro}"] if intro else [])], []
    for number, way in enumerate(shown, start=1):
        kept = _kept(measured(way.thing, args), args) if compared else ""
        source = source_of(way)
        heading = f"{number}. {kept[:1].upper()}{kept[1:]}" if kept else f"{number}."
        texts += ["", f"{heading} {way.why}" if not kept else f"{heading}. {way.why}"]
        texts += [f"    {line}" for line in source.splitlines()]
        blocks.append(
            f'<p style="margin:.8em 0 0;max-width:46em"><strong>{inline(heading)}</strong>{"." if kept else ""} '
            f"{inline(way.why)}</p>{block(source)}"
        )
    notes = list(_notes(exercise, args)) if compared else []
    texts += ["", *notes] if notes else []
    card = message(title, [intro] if intro else [], mood="news", folded="".join(blocks) + _small(notes))
    return Card("\n".join(texts), card.html)


def _count(number: int) -> str:
    return "there is one honest way" if number == 1 else f"{('two', 'three')[number - 2]} right ways"


def _notes(exercise: Exercise, args: Args) -> Iterator[str]:
    """What the learner's own version keeps, if this kernel has one, and how to read the figures."""
    own = _own_version(exercise)
    if own is not None:
        yield f"Your `{exercise.symbol}` {_kept(measured(own, args), args)}."
    yield "An input or output that another layer keeps anyway costs nothing more, whatever its size."


def _own_version(exercise: Exercise) -> Any:
    """The learner's class of this notebook, None where there is none."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    own = getattr(shell, "user_ns", {}).get(exercise.symbol)
    return own if isinstance(own, type) else None


def _kept(facts: Facts, args: Args) -> str:
    if not facts.saved:
        return "keeps no tensor"
    share = facts.saved_bytes / max(_size(args), 1)
    plural = {"an input": "inputs", "the output": "outputs"}
    what = [name if n == 1 else f"{n} {plural.get(name, name)}" for name, n in Counter(facts.saved).items()]
    return f"keeps {facts.saved_bytes:,} bytes, {share:.0%} of what went in: {', '.join(what)}"


def _size(args: Args) -> int:
    return sum(a.numel() * a.element_size() for a in args if isinstance(a, Tensor))


def _described(args: Args) -> str:
    tensors = [a for a in args if isinstance(a, Tensor)]
    shapes = " and ".join("×".join(map(str, t.shape)) for t in tensors)
    dtype = str(tensors[0].dtype).removeprefix("torch.") if tensors else ""
    return f"an input of {shapes} elements in {dtype} ({_size(args):,} bytes)"


def _small(notes: list[str]) -> str:
    return "".join(f'<p style="margin:.5em 0 0;font-size:90%;opacity:.85">{inline(note)}</p>' for note in notes)
