"""Checks of what a backward returned before the engine repaired it: how many gradients, for what, of which
shape."""

from __future__ import annotations

from torch import Tensor

from grader.contract.bench import Bench
from grader.contract.check import Failed, check
from grader.contract.values import is_differentiable
from grader.subject import Args, Returned


@check("returned_gradients", stage="contract", applies=is_differentiable)
def returned_gradients(bench: Bench) -> None:
    """Catches a wrong number of gradients, a gradient for an argument that is no tensor, and, where the
    exercise asks for it, shapes the engine had to reduce. Extra trailing None are legal. Sees the
    structure only, not the values."""
    samples = bench.samples(edges=False)
    for sample, seen in zip(samples, bench.runs(samples), strict=True):
        for returned in seen.returned:
            _check_one(returned, sample.args, bench.contract.returned_shapes)


def _check_one(returned: Returned, args: Args, exact_shapes: bool) -> None:
    if any(kind != "None" for kind, _, _ in returned.items[len(args) :]):
        raise Failed(
            f"backward returned {len(returned.items)} gradients for {len(args)} arguments of forward.",
            look="one gradient per argument of forward (ctx not counted), in their order.",
        )
    for index, ((kind, shape, _), arg) in enumerate(zip(returned.items, args, strict=False)):
        if isinstance(arg, Tensor):
            if kind == "None" and arg.is_floating_point():
                raise Failed(
                    f"Argument {index + 1} of forward requires grad, but backward returned None for it.",
                    look="None says that there is no gradient; a gradient of zero is a tensor.",
                )
            if exact_shapes and shape is not None and shape != tuple(arg.shape):
                raise Failed(
                    f"For argument {index + 1} of shape {tuple(arg.shape)} backward returned a gradient of "
                    f"shape {shape}.",
                    cause="the argument was broadcast and its gradient not summed back.",
                )
        elif kind != "None":
            raise Failed(
                f"Argument {index + 1} of forward is no tensor, yet backward returned a {kind} for it.",
                look="what autograd expects in the place of an argument that has no gradient.",
            )
