"""Lesson 01: what backward computes, and the contract of torch.autograd.Function.

The three exercises on vector-Jacobian products stand in `contract_vjp.py`; here are the Functions and the quiz.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor
from torch.autograd import Function

from grader.exercise import Contract, Exercise, Reference
from grader.exercises import contract_vjp
from grader.inputs import Draw, Inputs, Kink, Sample, elementwise

__all__ = ["EXERCISES"]

LESSON = "01_contract"


def _t(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


cube = Exercise(
    id="cube",
    lesson=LESSON,
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
        "Keep x with ctx.save_for_backward in forward and unpack ctx.saved_tensors in backward. Then the chain rule: "
        "upstream gradient times slope.",
        "backward receives ctx and one gradient and returns one gradient: g times the derivative of x³ at the saved x. "
        "Use ordinary tensor operations, no .data and no .detach().",
    ),
)


@cube.misconception(
    "no_upstream",
    "Your backward returns the derivative of x³ and forgets grad_output. autograd asks for the product of the two.",
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
    "input_on_ctx",
    "You keep the input as an attribute of ctx. autograd does not watch it there: when x is edited in place before "
    "backward runs, the gradient is silently wrong. Tensors travel through save_for_backward.",
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
    "detached_save",
    "You detach x on its way into backward. The first derivative survives that, the second comes out wrong without a "
    "word. Save x itself: autograd manages the history.",
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
    "x.data is a back door: what you saved has no history and no version counter, so neither an edit of x nor a second "
    "derivative is noticed. Save x itself.",
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
    "You save the slope, computed inside forward. To autograd it is a constant there, so the second derivative comes "
    "out wrong. Save an input or an output, and compute the slope in backward.",
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
    "Your backward returns two gradients, and forward has one input besides ctx. Count: one gradient per input.",
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
    "You wrote a class to be instantiated: __init__ and self. autograd never makes an instance. The methods are "
    "static, ctx is all they get, and the call is the class's .apply.",
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
    "input_on_class",
    "You keep the input on the class, which all calls share: a second forward overwrites what the first backward "
    "needs. ctx exists once per call.",
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


@cube.variant("pow")
class CubePow(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.pow(3)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x.pow(2)


@cube.variant("setup_context")
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


@cube.variant("needs_input_grad")
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


exp = Exercise(
    id="exp",
    lesson=LESSON,
    title="The exponential, which is its own slope",
    symbol="Exp",
    kind="function",
    points=3,
    reference=Reference(forward=torch.exp, vjp=lambda g, x: (g * torch.exp(x),)),
    inputs=elementwise(extreme=(-800.0, 5.0, -30.0, 600.0), nonfinite=(float("nan"), float("-inf"), 1.0)),
    contract=Contract(saved_tensors=1),
    hints=(
        "What is the derivative of eˣ? You have already computed it when forward ends.",
        "An output may be saved just like an input: give ctx.save_for_backward the very tensor you return.",
        "Compute y once, save y, return y. backward unpacks y and multiplies the upstream gradient by it.",
    ),
)


@exp.misconception(
    "output_on_ctx",
    "You keep the output as an attribute of ctx. The output holds its graph node, the node holds ctx and ctx the "
    "output: a ring that is not freed, and an edit of y goes unnoticed. Tensors travel through save_for_backward.",
)
class ExpOutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.exp(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y


@exp.misconception(
    "forward_of_upstream",
    "You saved nothing and run forward again on the only tensor at hand, the upstream gradient. backward needs the "
    "exponential of x, so something from forward has to be kept.",
)
class ExpForwardOfUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ExpForwardOfUpstream.forward(ctx, grad_output)


@exp.misconception(
    "input_on_class",
    "You leave x on the class and compute the forward again. All calls share the class, so a second call overwrites "
    "what the first backward needs. ctx exists once per call.",
)
class ExpInputOnClass(Function):
    @staticmethod
    def forward(ctx, x):
        ExpInputOnClass.x = x
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ExpInputOnClass.forward(ctx, ExpInputOnClass.x)


@exp.misconception(
    "input_on_ctx",
    "You keep the input as an attribute of ctx and compute the forward again. autograd does not watch that attribute: "
    "when x is edited in place, the gradient is silently wrong. Tensors travel through save_for_backward.",
)
class ExpInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.exp(ctx.x)


@exp.misconception(
    "detached_save",
    "You detach y before you save it. The first derivative survives that, the second comes out wrong without a word. "
    "Save the output itself.",
)
class ExpDetachedSave(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y.detach())
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.misconception(
    "returns_a_copy",
    "You save one tensor and return a copy of it. What you saved is then no output of the Function, only a constant "
    "computed inside, and the second derivative is lost. Return the tensor that you saved.",
)
class ExpReturnsACopy(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y.clone()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.misconception(
    "power_rule",
    "You used the rule for powers of x. In eˣ the variable is the exponent.",
)
class ExpPowerRule(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * torch.exp(x - 1)


@exp.misconception(
    "clipped_forward",
    "You limit x before the exponential. That is another function: its values and slopes are wrong beyond the limit.",
)
class ExpClippedForward(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x.clamp(max=3.0))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.misconception(
    "saved_the_input",
    "You saved x and use it as if it were y. What does your backward need: the argument of the exponential or its "
    "value?",
)
class ExpSavedTheInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.variant("recompute")
class ExpRecompute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x)


@exp.variant("setup_context")
class ExpSetupContext(Function):
    @staticmethod
    def forward(x):
        return x.exp()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.variant("once_differentiable")
class ExpOnceDifferentiable(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y


@exp.variant("by_itself")
class ExpByItself(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ExpByItself.apply(x)


EXERCISES: tuple[Exercise, ...] = (*contract_vjp.EXERCISES, cube, exp)
