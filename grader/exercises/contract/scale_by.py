"""Lesson 01: a Function with an argument that has no gradient."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch.autograd import Function

from grader.exercise import Args, Exercise, Reference
from grader.inputs import Draw, elementwise

__all__ = ["scale_by"]


def _generic(draw: Draw) -> Args:
    """Another factor in each draw, so that two calls differ in it; none is its own inverse."""
    factor = float(draw.uniform(low=-3.0, high=3.0, off=(-1.0, 0.0, 1.0)))
    return draw.normal(*draw.shape(2), scale=1.5), factor


scale_by = Exercise(
    id="scale_by",
    lesson="01_contract",
    title="An argument without a gradient",
    symbol="ScaleBy",
    kind="function",
    points=3,
    reference=Reference(forward=lambda x, k: x * k, vjp=lambda g, x, k: (g * k, None)),
    # 0.3 and 0.1 are not exact in binary: a factor that passes through float32 shows.
    inputs=replace(elementwise((0.3,), (-2.0,), (0.0,), (3.0,), (0.1,)), generic=_generic),
    hints=(
        "How many inputs does forward have besides ctx, and how many values does your backward return?",
        "k is a plain number. Keep it as an attribute, ctx.k = k: save_for_backward is for tensors.",
        "backward returns a pair. First the upstream gradient times the number on ctx, then None, which stands for an "
        "input without a gradient.",
    ),
)


@scale_by.misconception(
    "one_value_returned",
    "Your backward returns one value and forward has two inputs besides ctx. One gradient per input, in "
    "their order, also for the inputs without one.",
)
class ScaleByOneValue(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k


@scale_by.misconception(
    "tensor_for_number",
    "You return a tensor as the gradient of k. k came in as a plain number, so autograd has nowhere to put "
    "it and refuses.",
)
class ScaleByTensorForNumber(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.k, (grad_output * x).sum()


@scale_by.misconception(
    "zero_for_none",
    "You return 0.0 for k. A gradient of zero and no gradient are two things, and Python has a value for "
    "the second.",
)
class ScaleByZeroForNone(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k, 0.0


@scale_by.misconception(
    "order_exchanged",
    "Your two values stand in the wrong order: gradients are returned in the order of forward's inputs.",
)
class ScaleByOrderExchanged(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return None, grad_output * ctx.k


@scale_by.misconception(
    "factor_forgotten",
    "Your gradient does not depend on k. If x moves by a little, by how much does k times x move?",
)
class ScaleByFactorForgotten(Function):
    @staticmethod
    def forward(ctx, x, k):
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None


@scale_by.misconception(
    "times_input",
    "You multiply by x, which is the slope with respect to k. Asked is the slope with respect to x.",
)
class ScaleByTimesInput(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x, None


@scale_by.misconception(
    "undone",
    "You divide by k, as if backward had to undo forward. backward does not run the function in reverse: it "
    "carries sensitivities back.",
)
class ScaleByUndone(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output / ctx.k, None


@scale_by.misconception(
    "factor_on_class",
    "You keep k on the class, which all calls share: the next call's factor replaces this one's before "
    "backward runs. ctx exists once per call.",
)
class ScaleByFactorOnClass(Function):
    @staticmethod
    def forward(ctx, x, k):
        ScaleByFactorOnClass.k = k
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ScaleByFactorOnClass.k, None


@scale_by.misconception(
    "factor_in_float32",
    "You turn k into a tensor with torch.tensor(k), which is a float32: in double precision half of the "
    "digits are gone. A number can stay a number.",
)
class ScaleByFactorInFloat32(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(torch.tensor(k))
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        (k,) = ctx.saved_tensors
        return grad_output * k, None


@scale_by.misconception(
    "input_overwritten",
    "Your forward multiplies x in place. That tensor belongs to the caller and to the layers before: make a "
    "new one.",
)
class ScaleByInputOverwritten(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        x *= k
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k, None


@scale_by.variant("attribute", "A plain number may stand on ctx as it is: no tensor is kept at all.")
class ScaleByAttribute(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return k * x

    @staticmethod
    def backward(ctx, grad_output):
        return ctx.k * grad_output, None


@scale_by.variant("factor_as_tensor")
class ScaleByFactorAsTensor(Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = torch.as_tensor(k, dtype=x.dtype)
        return torch.mul(x, k)

    @staticmethod
    def backward(ctx, grad_output):
        grad_x = None
        if ctx.needs_input_grad[0]:
            grad_x = ctx.k * grad_output
        return grad_x, None


@scale_by.variant("default_factor")
class ScaleByDefaultFactor(Function):
    @staticmethod
    def forward(ctx, x, k=1.0):
        ctx.factor = float(k)
        return x * k

    @staticmethod
    def backward(ctx, grad_output):
        return torch.mul(grad_output, ctx.factor), None


@scale_by.variant("setup_context", "The same with `setup_context`, where the arguments arrive as one tuple.")
class ScaleBySetupContext(Function):
    @staticmethod
    def forward(x, k):
        return x * k

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.k, None
