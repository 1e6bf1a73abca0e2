"""Cases: ReLU."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("relu", "clone_then_zero", "clone grad_output, zero where x < 0 (passes g at x == 0)")
class ReluCloneThenZero(Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        out = t.clone()
        out[t < 0] = 0
        return out

    @staticmethod
    def backward(ctx, up):
        (t,) = ctx.saved_tensors
        down = up.clone()
        down[t < 0] = 0
        return down


@right("relu", "save_output", "save the output: y > 0 iff x > 0")
class ReluSaveOutput(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.relu(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return torch.where(y > 0, g, torch.zeros((), dtype=g.dtype))


@right("relu", "half_at_zero", "Heaviside 1/2 at the kink: a valid subgradient")
class ReluHalfAtZero(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.maximum(x, torch.zeros_like(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.heaviside(x.detach(), torch.tensor(0.5, dtype=x.dtype))


@right("relu", "setup_context", "forward without ctx + setup_context, functorch style")
class ReluSetupContext(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.relu(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0)


@right("relu", "mask_on_ctx", "bool mask kept as a ctx attribute: never an output, so no cycle")
class ReluMaskOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.positive = x > 0
        return x.clamp_min(0)

    @staticmethod
    def backward(ctx, g):
        return g.masked_fill(~ctx.positive, 0)


@wrong("relu", "masked_fill_grad_output", "masked_fill_ on an expanded gradient: all zero, only a UserWarning")
class ReluMaskedFillGradOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.neg = x < 0
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g.masked_fill_(ctx.neg, 0)


@wrong("relu", "mul_grad_output", 'RuntimeError "more than one element of the written-to tensor" after .sum()')
class ReluMulGradOutput(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.mul_((x > 0).to(g.dtype))


@wrong("relu", "kink_two", "gradient at x == 0 is 2g: not in the subdifferential (two masks overlap)")
class ReluKinkTwo(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x >= 0) + g * (x == 0)


@wrong("relu", "divide_y_by_x", "nan gradient where x == 0 (0/0)")
class ReluDivideYByX(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g * (y / x)


@right(
    "relu",
    "no_staticmethod",
    "no @staticmethod: torch looks both up on the class, so they work",
)
class ReluNoStaticmethod(Function):
    def forward(self, x):
        self.save_for_backward(x)
        return x.clamp(min=0)

    def backward(self, g):
        (x,) = self.saved_tensors
        return g * (x > 0)


@wrong("relu", "saved_tuple_not_unpacked", "TypeError: '>' not supported between instances of 'tuple' and 'int'")
class ReluSavedTupleNotUnpacked(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors
        return g * (x > 0)


@wrong(
    "relu",
    "returns_none_without_grad",
    "output is None under no_grad / eval (return sits inside the requires_grad branch)",
)
class ReluReturnsNoneWithoutGrad(Function):
    @staticmethod
    def forward(ctx, x):
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(x)
            return x.clamp(min=0)
        return None

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)


@wrong(
    "relu",
    "output_on_ctx",
    "memory grows: output <-> ctx reference cycle never freed without the cyclic collector",
)
class ReluOutputOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.clamp(min=0)
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        return g * (ctx.y > 0)


@wrong(
    "relu",
    "empty_like_uninitialised",
    "zeros never written: negative positions hold whatever was in memory (simulated with NaN)",
)
class ReluEmptyLikeUninitialised(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        out = torch.full_like(g, float("nan"))  # torch.empty_like in the wild
        out[x > 0] = g[x > 0]
        return out


@wrong(
    "relu",
    "dirty_not_returned",
    "input clamped in place and marked dirty but a clone is returned: RuntimeError",
)
class ReluDirtyNotReturned(Function):
    @staticmethod
    def forward(ctx, x):
        x.clamp_(min=0)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y > 0)


@wrong(
    "relu",
    "output_kept_for_its_shape",
    "ctx.y = y, read only for its shape: right gradients, and a cycle all the same",
)
class ReluOutputKeptForItsShape(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.clamp(min=0)
        ctx.save_for_backward(x > 0)
        return ctx.y

    @staticmethod
    def backward(ctx, g):
        (passed,) = ctx.saved_tensors
        return torch.where(passed, g.expand(ctx.y.shape), 0.0)


@wrong(
    "relu",
    "frees_its_mask",
    "deletes the mask after use: the second backward fails although the graph was retained",
)
class ReluFreesItsMask(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.passed = x > 0
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        passed = ctx.passed
        del ctx.passed
        return g * passed
