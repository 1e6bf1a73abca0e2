"""Lesson 01: the exponential, a Function that saves its output."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.exercise import Contract, Exercise, Reference
from grader.inputs import elementwise

__all__ = ["exp"]

exp = Exercise(
    id="exp",
    lesson="01_contract",
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
    "You keep the output as an attribute of ctx. The output holds its graph node, the node holds ctx and "
    "ctx the output: a ring that is not freed, and an edit of y goes unnoticed. Tensors travel through "
    "save_for_backward.",
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
    "You saved nothing and run forward again on the only tensor at hand, the upstream gradient. backward "
    "needs the exponential of x, so something from forward has to be kept.",
)
class ExpForwardOfUpstream(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ExpForwardOfUpstream.forward(ctx, grad_output)


@exp.misconception(
    "kept_on_class",
    "You leave x on the class and compute the forward again. All calls share the class, so a second call "
    "overwrites what the first backward needs. ctx exists once per call.",
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
    "kept_on_ctx",
    "You keep the input as an attribute of ctx and compute the forward again. autograd does not watch that "
    "attribute: when x is edited in place, the gradient is silently wrong. Tensors travel through "
    "save_for_backward.",
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
    "detached",
    "What you save is not the tensor you return but a twin of it (detached, copied, or computed before). To "
    "autograd a twin is a constant, so the second derivative comes out wrong without a word.",
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
    "You limit x before the exponential. That is another function: its values and slopes are wrong beyond "
    "the limit.",
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
    "You saved x and use it as if it were y. What does your backward need: the argument of the exponential "
    "or its value?",
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


@exp.variant(
    "once_differentiable",
    "Saves the output, which is the slope: backward is one product. The decorator turns a second derivative into "
    "an error instead of a surprise.",
)
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


@exp.variant(
    "setup_context",
    "The same saving in the form that torch.func asks for; without the decorator second derivatives work, as y "
    "is tied to the graph.",
)
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


@exp.variant(
    "recompute",
    "Saves the input and pays for a second exponential in backward: worth it only where x is kept by someone "
    "else anyway and y is not.",
)
class ExpRecompute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.exp(x)


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
