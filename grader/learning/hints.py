"""`hint("relu")`: one hint more each time, from gentle to nearly there."""

from __future__ import annotations

from grader.errors import GraderError
from grader.exercise import Exercise
from grader.learning import journal
from grader.learning.card import Card, inline, message
from grader.learning.names import exercise_named
from grader.learning.standing import standing

__all__ = ["hint"]


def hint(exercise: object = "", *, again: bool = False) -> Card:
    """The next hint for an exercise, given by its id ("relu") or its class or function (MyReLU).

    The hints seen so far are remembered in the learner's folder, so tomorrow goes on where today stopped.
    After the last one it is shown again. `again=True` starts over with the first. An unknown id gets a
    message, not an error.
    """
    try:
        found = exercise_named(exercise)
    except GraderError as error:
        return message("No hint", [str(error)], mood="sorry")
    if not found.hints:
        return message(f"{found.id}: this exercise has no hints.", mood="sorry")
    number = 1 if again else min(standing(found.id).last_hint + 1, len(found.hints))
    repeated = not again and standing(found.id).last_hint >= len(found.hints)
    if not repeated:
        journal.append({"kind": "hint", "exercise": found.id, "number": number})
    return _show(found, number, repeated=repeated)


def _show(exercise: Exercise, number: int, *, repeated: bool) -> Card:
    total = len(exercise.hints)
    title = f"Hint {number} of {total} for {exercise.id}"
    paragraphs = [exercise.hints[number - 1]]
    if repeated:
        paragraphs.append(f'That was the last one. `hint("{exercise.id}", again=True)` starts over.')
    elif number < total:
        paragraphs.append(f'Try with that first; `hint("{exercise.id}")` once more gives the next.')
    return message(title, paragraphs, mood="hint", folded=_earlier(exercise.hints[: number - 1]))


def _earlier(hints: tuple[str, ...]) -> str:
    """The hints before this one, folded away."""
    if not hints:
        return ""
    items = "".join(f"<li>{inline(text)}</li>" for text in hints)
    return f'<details style="margin-top:.4em"><summary>Earlier hints</summary><ol>{items}</ol></details>'
