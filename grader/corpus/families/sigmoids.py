"""Cases: sigmoid and swish."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.corpus.case import right, wrong


@right("corpus/sigmoid", "torch_sigmoid")
class SigmoidTorchSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@right("corpus/sigmoid", "two_branches", "exp of -|x| only")
class SigmoidTwoBranches(Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.exp(-x.abs())
        y = torch.where(x >= 0, 1 / (1 + e), e / (1 + e))
        ctx.save_for_backward(x)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x.abs())
        return g * e / (1 + e) ** 2


@right("corpus/sigmoid", "symmetric_product", "sigma(x)*sigma(-x): no cancellation in the tails")
class SigmoidSymmetricProduct(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (torch.tanh(0.5 * x) + 1)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(x) * torch.sigmoid(-x)


@wrong("corpus/sigmoid", "naive_backward", "exp(-x)/(1+exp(-x))^2: inf/inf = nan once -x > 709 (88 in float32)")
class SigmoidNaiveBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        e = torch.exp(-x)
        return g * e / (1 + e) ** 2


@wrong("corpus/sigmoid", "naive_forward_positive", "exp(x)/(1+exp(x)): nan for large x")
class SigmoidNaiveForwardPositive(Function):
    @staticmethod
    def forward(ctx, x):
        e = torch.exp(x)
        y = e / (1 + e)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@right("corpus/swish", "y_plus_s", "y + s*(1-y)")
class SwishYPlusS(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.silu(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = x.sigmoid()
        y = x * s
        return g * (y + s * (1 - y))


@wrong("corpus/swish", "missing_x_factor", "s + s*(1-s): x dropped from the second term")
class SwishMissingXFactor(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * (s + s * (1 - s))


@wrong(
    "corpus/swish",
    "inner_backward_accumulates",
    "y.backward(g) on the saved input also fills the leaf's .grad, which the engine then adds again",
)
class SwishInnerBackwardAccumulates(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            z = x.clone()
            z.retain_grad()
            y = z * torch.sigmoid(z)
            y.backward(g)  # also reaches the real leaf behind x
        return z.grad


@wrong(
    "corpus/swish",
    "intermediate_sigmoid",
    "saves sigmoid(x) as an intermediate: second derivative silently wrong",
)
class SwishIntermediateSigmoid(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        return g * (s * (1 + x * (1 - s)))


@wrong("corpus/swish", "y_formula_precedence", "y + s*1 - y instead of y + s*(1 - y)")
class SwishYFormulaPrecedence(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        y = x * s
        return g * (y + s * 1 - y)


@right("corpus/swish_beta", "sum_to_size")
class SwishBetaSumToSize(Function):
    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return x * torch.sigmoid(b * x)

    @staticmethod
    def backward(ctx, g):
        x, b = ctx.saved_tensors
        s = torch.sigmoid(b * x)
        gx = g * (s + b * x * s * (1 - s))
        gb = g * x * x * s * (1 - s)
        return gx.sum_to_size(x.shape), gb.sum_to_size(b.shape)


@right(
    "corpus/swish_beta",
    "engine_reduces",
    "un-reduced gradients: the engine sums expanded gradients down itself",
)
class SwishBetaEngineReduces(Function):
    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return x * torch.sigmoid(b * x)

    @staticmethod
    def backward(ctx, g):
        x, b = ctx.saved_tensors
        s = torch.sigmoid(b * x)
        return g * (s + b * x * s * (1 - s)), g * x * x * s * (1 - s)


@wrong(
    "corpus/swish_beta",
    "scalar_total_filled_back",
    "gradient summed over everything and broadcast back over beta: wrong value, right shape",
)
class SwishBetaScalarTotalFilledBack(Function):
    @staticmethod
    def forward(ctx, x, b):
        ctx.save_for_backward(x, b)
        return x * torch.sigmoid(b * x)

    @staticmethod
    def backward(ctx, g):
        x, b = ctx.saved_tensors
        s = torch.sigmoid(b * x)
        gb = (g * x * x * s * (1 - s)).sum()
        return (g * (s + b * x * s * (1 - s))).sum_to_size(x.shape), gb.expand(b.shape)


@wrong(
    "corpus/swish",
    "autograd_does_it",
    "differentiates the forward again with autograd instead of stating the gradient",
)
class SwishAutogradDoesIt(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            y = x * torch.sigmoid(x)
        return torch.autograd.grad(y, x, g)[0]


@wrong("corpus/sigmoid", "cheaper_for_inference", "a cheap stand-in where no gradient is asked: evaluation differs")
class SigmoidCheaperForInference(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x) if ctx.needs_input_grad[0] else (x / 6 + 0.5).clamp(0, 1)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)
