"""Cases: tanh, its forward mode and its rule for vmap."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@wrong("corpus/tanh", "naive_exp", "(e^x - e^-x)/(e^x + e^-x): nan for |x| > 709")
class TanhNaiveExp(Function):
    @staticmethod
    def forward(ctx, x):
        a, b = x.exp(), (-x).exp()
        y = (a - b) / (a + b)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


@wrong(
    "corpus/tanh",
    "cosh_backward",
    "(cosh^2 - sinh^2) / cosh^2: inf - inf for large |x|",
)
class TanhCoshBackward(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.tanh(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        c, s = torch.cosh(x), torch.sinh(x)
        return g * (c * c - s * s) / (c * c)


@wrong(
    "corpus/tanh",
    "jvp_wrong",
    "backward right, jvp forgets the square: only forward mode is wrong",
)
class TanhJvpWrong(Function):
    @staticmethod
    def forward(x):
        return torch.tanh(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_forward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)

    @staticmethod
    def jvp(ctx, t):
        (y,) = ctx.saved_tensors
        return t * (1 - y)


@wrong(
    "corpus/tanh",
    "claims_vmap_without_setup_context",
    'generate_vmap_rule on a ctx-style forward: "must override setup_context" under torch.func',
)
class TanhClaimsVmapWithoutSetupContext(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)


@right("corpus/tanh", "vmap_staticmethod", "hand-written vmap rule with the right out_dim")
class TanhVmapStaticmethod(Function):
    @staticmethod
    def forward(x):
        return torch.tanh(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)

    @staticmethod
    def vmap(info, in_dims, x):
        return TanhVmapStaticmethod.apply(x), in_dims[0]


@wrong(
    "corpus/tanh",
    "sign_of_g",
    "uses g.sign(): magnitude of the upstream gradient ignored; one-hot gradcheck passes",
)
class TanhSignOfG(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g.sign() * (1 - y * y)
