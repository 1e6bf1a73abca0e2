"""What a class does when it shows a misconception, in words that follow "5 of 60", and what to teach next.

The mistakes that the same word names in several exercises have their line here. For one of a single exercise the
sentence that its author reads, and the exercise's first hint, say it best.
"""

from __future__ import annotations

from collections import Counter

from grader.outline import outlines

__all__ = ["advice", "general", "phrase"]

_TAUGHT = {
    "no_upstream": (
        "ignore the upstream gradient",
        "The chain rule with two boxes on the board: what comes from above, times the local slope. Let them check "
        "with a loss that is not the plain sum, so that the upstream is not all ones.",
    ),
    "identity": (
        "hand the upstream gradient on unchanged",
        "The local derivative: what does y do when x moves a little? Work out one element by hand.",
    ),
    "sign_flipped": (
        "have the sign of the gradient wrong",
        "Compare with a finite difference by hand: nudge x up and see which way y goes.",
    ),
    "doubled": ("have a factor 2 too much", "Write the derivative of one element down before the code."),
    "halved": ("have lost a factor 2", "Write the derivative of one element down before the code."),
    "factor_forgotten": ("forget a constant factor", "Write the derivative of one element down before the code."),
    "zeros": (
        "return zeros or None for a gradient",
        "What None means: nothing before this Function learns. Show a net whose first layer never moves.",
    ),
    "summed_upstream": (
        "sum the upstream gradient first",
        "The upstream has the shape of the output: one number for each element, none of which may be mixed.",
    ),
    "clamped_upstream": (
        "clip the upstream gradient",
        "A backward is linear in the upstream gradient: twice the upstream, twice the answer. Test with 10 and -10.",
    ),
    "clips_gradient": (
        "clip the gradient where the input should decide",
        "The window looks at x; the gradient passes whole or not at all.",
    ),
    "abs_upstream": (
        "take the absolute value of the upstream gradient",
        "A backward is linear in the upstream gradient: minus the upstream, minus the answer.",
    ),
    "sign_of_upstream": (
        "use only the sign of the upstream gradient",
        "A backward is linear in the upstream gradient: twice the upstream, twice the answer.",
    ),
    "in_place_upstream": (
        "write into the upstream gradient",
        "grad_output is on loan: other branches read it too. Show y + y, where both ends get the same tensor.",
    ),
    "in_place_mask": (
        "write into the upstream gradient",
        "grad_output is on loan: other branches read it too. Show y + y, where both ends get the same tensor.",
    ),
    "single_precision": (
        "pass through float32 on the way",
        "Where dtypes come from: use the input's, and let gradcheck in float64 show what was lost.",
    ),
    "detached": (
        "cut the graph inside backward",
        "backward is differentiated too: what .data, .detach() and NumPy do to the second derivative.",
    ),
    "kept_on_ctx": (
        "keep a tensor as an attribute of ctx",
        "save_for_backward and what it guards: edit the input in place after forward, and watch the gradient be wrong.",
    ),
    "output_on_ctx": (
        "keep the output as an attribute of ctx",
        "save_for_backward again: an output on ctx is a ring of references that nothing frees in time.",
    ),
    "kept_on_class": (
        "keep what backward needs on the class",
        "Two calls, then the first one's backward: who owns what was saved?",
    ),
    "swapped": (
        "return the gradients in the wrong order",
        "backward answers forward's arguments in their order: draw the two signatures side by side.",
    ),
    "missing_none": (
        "return too few values from backward",
        "One value for each argument of forward, None for what is no tensor: draw the two signatures side by side.",
    ),
    "mask_inverted": ("let through what should be blocked", "Sketch the graph, and mark where its slope is not 0."),
    "nothing_blocked": ("block nothing", "Sketch the graph, and mark where its slope is 0."),
    "mask_by_gradient": (
        "let the gradient decide what passes",
        "The mask comes from the input of forward: the gradient's own sign has no say.",
    ),
    "no_window": (
        "leave the window out",
        "What a straight-through estimator owes for x far away: sketch clip(x, -1, 1)",
    ),
    "one_sided": ("bound one side only", "A window has two ends: test with inputs beyond each of them."),
    "nan_hidden": ("hide NaN", "A comparison with NaN is False: which of the two ways of writing the mask keeps it?"),
    "always_true": (
        "write a check that finds everything right",
        "Test the tests: a check that has never failed says nothing. Let it meet a broken Function first.",
    ),
}


def phrase(misconception: str) -> str:
    """What those who have it do, as in "5 of 60 ...", or the words of its id."""
    return _TAUGHT[misconception][0] if misconception in _TAUGHT else misconception.replace("_", " ")


def general(misconception: str) -> str:
    """What the mistake says to its author whatever the exercise; "" for one that belongs to a single exercise."""
    said = Counter(one.mistakes[misconception] for one in outlines().values() if misconception in one.mistakes)
    sentence, times = said.most_common(1)[0] if said else ("", 0)
    return sentence if times > 1 else ""


def advice(misconception: str, exercise: str) -> str:
    """What to teach next, in a sentence or two; "" where nothing is known of it."""
    if misconception in _TAUGHT:
        return _TAUGHT[misconception][1]
    known = outlines().get(exercise)
    return f"The exercise's first hint: {known.hints[0]}" if known and known.hints else ""
