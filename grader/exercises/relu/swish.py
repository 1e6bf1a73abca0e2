"""Lesson 02: swish, whose backward computes again what the forward did not save."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.exercise import Contract, Exercise, Reference
from grader.exercises.relu.common import LESSON, TENSOR_ON_CTX
from grader.inputs import elementwise

__all__ = ["swish"]

swish = Exercise(
    id="swish",
    lesson=LESSON,
    title="Swish: recompute instead of save",
    symbol="Swish",
    kind="function",
    points=5,
    reference=Reference(
        forward=lambda x: x * torch.sigmoid(x),
        vjp=lambda g, x: (g * torch.sigmoid(x) * (1 + x * torch.sigmoid(-x)),),
    ),
    inputs=elementwise(
        scale=2.0,
        extreme=(-1e4, -800.0, -100.0, -40.0, 40.0, 100.0, 800.0, 1e4),
        nonfinite=(float("nan"), 1.0, -1.0),
    ),
    contract=Contract(saved_tensors=1, saved_bytes=lambda x: x.numel() * x.element_size()),
    hints=(
        "y = x * s with s = sigmoid(x) is a product of two things that both move with x. The product rule "
        "gives two terms.",
        "Save x alone and compute s again in backward. You need the slope of the sigmoid, s * (1 - s), in "
        "one of the terms.",
        "One term is s itself, the other x times the slope of the sigmoid; the sum is multiplied by the "
        "upstream gradient. Take torch.sigmoid: it is finite for every x.",
    ),
)


@swish.misconception(
    "saves_sigmoid",
    "The values are right, but you keep the sigmoid besides x: twice the memory. It can be computed again "
    "from x when backward needs it.",
)
class SavesSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, grad_output):
        x, s = ctx.saved_tensors
        return grad_output * (s + x * s * (1 - s))


@swish.misconception(
    "saves_output_too",
    "The values are right, but you keep the output besides x: two full-sized tensors for one backward. "
    "Everything it needs can be computed again from x.",
)
class SavesOutputToo(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + y * (1 - s))


@swish.misconception(
    "first_term_missing",
    "You differentiated the sigmoid and left x standing before it. Both factors of the product move with x; "
    "the term in which x itself moves is missing.",
)
class FirstTermMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * x * s * (1 - s)


@swish.misconception(
    "second_term_missing",
    "You treated the sigmoid as a constant factor. It moves with x as well: the term in which the sigmoid "
    "moves is missing (or cancelled, if a pair of brackets got lost).",
)
class SecondTermMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)


@swish.misconception(
    "factor_x_missing",
    "Your second term is the slope of the sigmoid alone. In the product rule each derivative is multiplied "
    "by the other factor.",
)
class FactorXMissing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + s * (1 - s))


@swish.misconception(
    "product_of_derivatives",
    "You multiplied the derivatives of the two factors. The derivative of a product is a sum of two terms, "
    "each with one factor differentiated.",
)
class ProductOfDerivatives(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * s * (1 - s)


@swish.misconception(
    "sigmoid_of_output",
    "Your backward takes the output for the input: it computes the sigmoid of y. The sigmoid of the forward "
    "was that of x.",
)
class SigmoidOfOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        s = torch.sigmoid(y)
        return grad_output * (s + y * s * (1 - s))


@swish.misconception(
    "overflow_in_forward",
    "Your forward is NaN for large x: an exponential overflows to infinity there, and infinity over "
    "infinity is NaN. Choose a form of the sigmoid that never divides two huge numbers.",
)
class OverflowInForward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        e = torch.exp(x)
        return x * e / (1 + e)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@swish.misconception(
    "overflow_in_backward",
    "Your forward is fine, but your backward is NaN for inputs of large size: an exponential overflows in "
    "its formula. Write the slope of the sigmoid by means of the sigmoid itself.",
)
class OverflowInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return grad_output * ((1 + e + x * e) / (1 + e) ** 2)


@swish.misconception(
    "autograd_inside",
    "Your backward lets autograd differentiate the formula. The exercise is to write that derivative "
    "yourself; building a second graph inside also costs the memory you meant to save.",
)
class AutogradInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.detach().requires_grad_()
            y = z * torch.sigmoid(z)
        return torch.autograd.grad(y, z, grad_output)[0]


@swish.misconception(
    "backward_inside",
    "Your backward calls .backward() on a graph that still hangs on the caller's x, so its .grad is filled "
    "once by you and once more by autograd. Write the derivative yourself.",
)
class BackwardInside(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.clone()
            z.retain_grad()
            (z * torch.sigmoid(z)).backward(grad_output)
        return z.grad


@swish.misconception("kept_on_ctx", TENSOR_ON_CTX)
class SwishInputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        s = torch.sigmoid(ctx.x)
        return grad_output * (s + ctx.x * s * (1 - s))


@swish.variant(
    "product_rule",
    "The product rule as it stands: the sigmoid is computed again, and x is all that is kept.",
)
class SwishProductRule(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


@swish.variant(
    "by_output",
    "With y = x s the slope is y + s (1 - y): one product fewer, from the same single saved tensor.",
)
class SwishByOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.silu(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        y = x * s
        return grad_output * (y + s * (1 - y))


@swish.variant("exp_of_minus_x")
class SwishExp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + torch.exp(-x))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        s = 1 / (1 + torch.exp(-x))
        return grad_output * s * (1 + x * (1 - s))


@swish.variant("setup_context")
class SwishSetupContext(Function):
    @staticmethod
    def forward(x):
        return x * x.sigmoid()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        if not ctx.needs_input_grad[0]:
            return None
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return s.mul(x * (1 - s) + 1).mul(grad_output)
