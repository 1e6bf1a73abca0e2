"""Cases: the square, with mistakes of every kind around one formula."""

from __future__ import annotations

import numpy as np
import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/square", "addition_form")
class SquareAdditionForm(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return torch.mul(a, a)

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        t = g * a
        return t + t


@right(
    "corpus/square",
    "intermediate_as_output",
    "needed intermediate returned as an extra output and dropped by the wrapper",
)
class SquareIntermediateAsOutput(Function):
    @classmethod
    def apply(cls, x):
        return super().apply(x)[0]

    @staticmethod
    def forward(ctx, x):
        y, d = x * x, 2 * x
        ctx.save_for_backward(d)
        return y, d

    @staticmethod
    def backward(ctx, g, gd):
        (d,) = ctx.saved_tensors
        return g * d + 2 * gd


@wrong("corpus/square", "forgets_two", "gradient half as large")
class SquareForgetsTwo(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x


@wrong(
    "corpus/square",
    "normalised_g",
    "divides by ||g||: one-hot and unit vectors are unchanged, so gradcheck (slow and fast) passes",
)
class SquareNormalisedG(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (g.norm() + 1e-12) * 2 * x


@wrong(
    "corpus/square",
    "intermediate_double",
    "saves 2x as an intermediate: first order right, second derivative silently 0",
)
class SquareIntermediateDouble(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.two_x = 2 * x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * ctx.two_x


@wrong(
    "corpus/square",
    "no_grad_in_backward",
    "torch.no_grad() around the backward body: second derivative cut off silently",
)
class SquareNoGradInBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.no_grad():
            return 2 * x * g


@wrong(
    "corpus/square",
    "detached_saved",
    "x.detach() in backward: d2y/dx2 missing, only the part through g survives",
)
class SquareDetachedSaved(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.detach())
        return x * x

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach()
        return 2 * x * g


@wrong(
    "corpus/square",
    "save_twice",
    "the second save_for_backward call replaces the first: backward reads y as x",
)
class SquareSaveTwice(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong(
    "corpus/square",
    "builtin_input",
    "save_for_backward(input) with the parameter named x: saves the builtin -> TypeError",
)
class SquareBuiltinInput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(input)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong(
    "corpus/square",
    "numpy_backward",
    "NumPy in backward without once_differentiable: the second derivative fails with a puzzling error",
)
class SquareNumpyBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.from_numpy(np.asarray(2 * x.numpy() * g.numpy()))


@wrong("corpus/square", "numpy_detach_backward", "numpy through .detach(): second derivative silently cut off")
class SquareNumpyDetachBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.as_tensor(np.asarray(2 * x.detach().numpy() * g.detach().numpy()))


@wrong("corpus/square", "calls_itself", "forward calls its own apply: RecursionError")
class SquareCallsItself(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return SquareCallsItself.apply(x) * 1

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@wrong(
    "corpus/square",
    "create_graph_always",
    "inner autograd.grad on the saved LEAF with retain_graph and .backward(): the caller's .grad is touched",
)
class SquareCreateGraphAlways(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = x * x
            y.backward(g, retain_graph=True)
        return 2 * x * g


@wrong("corpus/square", "drifting_backward", "right to 12 digits, and never the same twice: runs cannot be repeated")
class SquareDriftingBackward(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        SquareDriftingBackward.calls += 1
        return 2 * x * g * (1 + 1e-13 * (SquareDriftingBackward.calls % 7))


@wrong("corpus/square", "clips_large_gradients", "clips grad_output at 20: nothing smaller shows it")
class SquareClipsLargeGradients(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g.clamp(-20, 20)


@wrong("corpus/square", "views_the_gradient", "g.view(-1): an error for a transposed grad_output only")
class SquareViewsTheGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (2 * x.reshape(-1) * g.view(-1)).reshape(x.shape)
