"""Cases: straight-through estimators and gradient reversal."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("binarize", "identity")
class BinarizeIdentity(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g


@right("binarize", "heaviside_setup_context")
class BinarizeHeavisideSetupContext(Function):
    @staticmethod
    def forward(x):
        return torch.heaviside(x, x.new_zeros(()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return 1 * g


@wrong("binarize", "bool_output", "output is bool: cannot require grad, gradient is lost")
class BinarizeBoolOutput(Function):
    @staticmethod
    def forward(ctx, x):
        return x > 0

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("binarize", "float32_output", ".float(): float64 / bfloat16 inputs come out as float32")
class BinarizeFloat32Output(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("binarize", "true_derivative", "returns the true derivative (0): nothing trains")
class BinarizeTrueDerivative(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g)


@wrong(
    "binarize",
    "hardtanh_of_gradient",
    "clips the gradient values to [-1, 1], not the input window: large gradients are squashed",
)
class BinarizeHardtanhOfGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return F.hardtanh(g)


@wrong("binarize", "detaches_wrong_operand", "x.detach() + (step - x): forward right, gradient -1")
def binarize_detaches_wrong_operand(x):
    return x.detach() + ((x > 0).to(x.dtype) - x)


@wrong(
    "binarize",
    "called_forward_directly",
    "calls Function.forward(None, x): the comparison has no gradient, autograd sees a constant",
)
class BinarizeCalledForwardDirectly(Function):
    @classmethod
    def apply(cls, x):
        return cls.forward(None, x)

    @staticmethod
    def forward(ctx, x):
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g


@right("sign_clipped", "window_lt_clone", "strict window (zero on |x| == 1), clone and zero")
class SignWindowLtClone(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        y = x.sign()
        y[y == 0] = 1
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = g.clone()
        out[x.ge(1)] = 0
        out[x.le(-1)] = 0
        return out


@right("sign_clipped", "mask_saved", "saves only the bool window")
class SignMaskSaved(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > -1) & (x < 1))
        return 2.0 * (x >= 0).to(x.dtype) - 1.0

    @staticmethod
    def backward(ctx, g):
        (m,) = ctx.saved_tensors
        return torch.where(m, g, g.new_zeros(()))


@wrong("sign_clipped", "plain_identity", "no window: saturated inputs keep getting gradient")
class SignPlainIdentity(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g


@wrong("sign_clipped", "window_on_output", "saves the output: |y| == 1 everywhere, the window never closes")
class SignWindowOnOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x >= 0, 1.0, -1.0).to(x.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y.abs() <= 1)


@wrong(
    "sign_clipped",
    "clamped_gradient",
    "grad.clamp(-1, 1): passes with unit gradients inside the window, wrong outside and for large g",
)
class SignClampedGradient(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1.0, 1.0)


@wrong("sign_clipped", "window_inplace_g", "zeroes grad_output in place: all zero after .sum()")
class SignWindowInplaceG(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g[x.abs() > 1] = 0
        return g


@right("grad_reverse", "view_as")
class ReverseViewAs(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None


@right("grad_reverse", "detach_sum", "composite: (1+lam)*x.detach() - lam*x")
def reverse_detach_sum(x, lam):
    return x.detach() + (-lam * x) - (-lam * x).detach()


@wrong("grad_reverse", "double_negation", "negates twice: the gradient is not reversed")
class ReverseDoubleNegation(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = -lam
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None


@wrong("grad_reverse", "forward_scaled", "forward also multiplied by -lam")
class ReverseForwardScaled(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return -lam * x

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


@wrong("grad_reverse", "neg_inplace", "g.neg_(): the skip branch sharing g is reversed too; error after sum()")
class ReverseNegInplace(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg_().mul_(ctx.lam), None


@wrong(
    "grad_reverse",
    "hook_on_the_input",
    "reverses by a hook on the input: every other user of the input is reversed as well",
)
def reverse_hook_on_the_input(x, lam):
    if x.requires_grad:
        x.register_hook(lambda g: -lam * g)
    return x * 1


@wrong(
    "grad_reverse",
    "factor_tensor_float32",
    "saves torch.tensor(lam), which is float32: double-precision gradients lose digits",
)
class ReverseFactorTensorFloat32(Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.save_for_backward(torch.tensor([lam]))
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (lam,) = ctx.saved_tensors
        return -(lam.expand(g.shape) * g) if g.dim() else -lam[0] * g, None
