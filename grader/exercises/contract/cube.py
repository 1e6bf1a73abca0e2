"""Lesson 01: the cube, the learner's first Function."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Exercise, Reference
from grader.inputs import Kink, elementwise

__all__ = ["cube"]


def _t(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


cube = Exercise(
    id="cube",
    lesson="01_contract",
    title="A first Function: the cube",
    symbol="Cube",
    kind="function",
    points=4,
    reference=Reference(forward=lambda x: x**3, vjp=lambda g, x: (3 * x**2 * g,)),
    inputs=elementwise(
        # Smooth everywhere: at 0 the slope is 0 and nothing else.
        kinks=(Kink((_t(0.0, 1.0, -2.0),), low=_t(0, 3, 12), high=_t(0, 3, 12)),),
        extreme=(1e60, -1e60, 1e-60),
    ),
    hints=(
        "backward needs one thing that only forward has seen. How does it get from one to the other?",
        "Keep x with ctx.save_for_backward in forward and unpack ctx.saved_tensors in backward. Then the "
        "chain rule: upstream gradient times slope.",
        "backward receives ctx and one gradient and returns one gradient: g times the derivative of x³ at "
        "the saved x. Use ordinary tensor operations, no .data and no .detach().",
    ),
)


@cube.misconception(
    "no_upstream",
    "Your backward returns the derivative of x³ and forgets grad_output. autograd asks for the product of "
    "the two.",
)
class CubeNoUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2


@cube.misconception(
    "kept_on_ctx",
    "You keep the input as an attribute of ctx. autograd does not watch it there: when x is edited in place "
    "before backward runs, the gradient is silently wrong. Tensors travel through save_for_backward.",
)
class CubeInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * ctx.x**2 * grad_output


@cube.misconception(
    "detached",
    "You detach x on its way into backward. The first derivative survives that, the second comes out wrong "
    "without a word. Save x itself: autograd manages the history.",
)
class CubeDetachedSave(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.detach())
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output


@cube.misconception(
    "data_attribute",
    "x.data is a back door: what you saved has no history and no version counter, so neither an edit of x "
    "nor a second derivative is noticed. Save x itself.",
)
class CubeDataAttribute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.data)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x.data**2 * grad_output


@cube.misconception(
    "saved_intermediate",
    "You save the slope, computed inside forward. To autograd it is a constant there, so the second "
    "derivative comes out wrong. Save an input or an output, and compute the slope in backward.",
)
class CubeSavedIntermediate(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(3 * x**2)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (slope,) = ctx.saved_tensors
        return slope * grad_output


@cube.misconception(
    "tuple_too_long",
    "Your backward returns two gradients, and forward has one input besides ctx. Count: one gradient per "
    "input.",
)
class CubeTupleTooLong(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output, grad_output


@cube.misconception(
    "instance_call",
    "You wrote a class to be instantiated: __init__ and self. autograd never makes an instance. The methods "
    "are static, ctx is all they get, and the call is the class's .apply.",
)
class CubeInstanceCall(Function):
    def __init__(self):
        super().__init__()
        self.exponent = 3

    def forward(self, x):
        self.save_for_backward(x)
        return x**self.exponent

    def backward(self, grad_output):
        (x,) = self.saved_tensors
        return self.exponent * x ** (self.exponent - 1) * grad_output


@cube.misconception(
    "kept_on_class",
    "You keep the input on the class, which all calls share: a second forward overwrites what the first "
    "backward needs. ctx exists once per call.",
)
class CubeInputOnClass(Function):
    @staticmethod
    def forward(ctx, x):
        CubeInputOnClass.x = x
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * CubeInputOnClass.x**2 * grad_output


@cube.misconception(
    "divides_by_input",
    "Your slope divides by x, which gives 0/0 at x = 0, where the cube is perfectly smooth.",
)
class CubeDividesByInput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return 3 * y / x * grad_output


@cube.misconception(
    "odd_slope",
    "Your slope has the sign of x. A cube rises on both sides of zero.",
)
class CubeOddSlope(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x.abs() * x * grad_output


@cube.misconception(
    "factor_forgotten",
    "The power went down by one, but the old exponent has to come to the front.",
)
class CubeFactorForgotten(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return x**2 * grad_output


@cube.variant(
    "pow",
    "The shortest: save the input, apply the power rule. Made of differentiable operations, so second "
    "derivatives come free.",
)
class CubePow(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x.pow(2)


@cube.variant(
    "setup_context",
    "The same with `setup_context`, the form that torch.func's transforms (vmap, jvp) ask for.",
)
class CubeSetupContext(Function):
    @staticmethod
    def forward(x):
        return x * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return (grad_output * x * x * 3,)


@cube.variant(
    "needs_input_grad",
    "Skips the work when nobody asked for the gradient of x, which pays when a Function has several inputs.",
)
class CubeNeedsInputGrad(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return None
        return 3 * ctx.saved_tensors[0].square() * grad_output


@cube.variant("trailing_none")
class CubeTrailingNone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output, None
