"""Cases: dropout."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@wrong("corpus/dropout", "new_mask_in_backward", "draws a fresh mask in backward")
class DropoutNewMaskInBackward(Function):
    @staticmethod
    def forward(ctx, x, p):
        ctx.p = p
        return x * (torch.rand_like(x) >= p) / (1 - p)

    @staticmethod
    def backward(ctx, g):
        return g * (torch.rand_like(g) >= ctx.p) / (1 - ctx.p), None


@wrong("corpus/dropout", "unscaled_backward", "mask right, 1/(1-p) missing in backward")
class DropoutUnscaledBackward(Function):
    @staticmethod
    def forward(ctx, x, p):
        m = torch.rand_like(x) >= p
        ctx.save_for_backward(m)
        return x * m / (1 - p)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


@right("corpus/dropout", "mask_saved", "the bool mask is saved, the scale applied on both ways")
class DropoutMaskSaved(Function):
    @staticmethod
    def forward(ctx, x, p):
        kept = torch.rand_like(x) >= p
        ctx.save_for_backward(kept)
        ctx.scale = 1 / (1 - p)
        return x * kept * ctx.scale

    @staticmethod
    def backward(ctx, g):
        (kept,) = ctx.saved_tensors
        return g * kept * ctx.scale, None


@right("corpus/dropout", "factors_saved", "one tensor of factors 0 and 1 / (1 - p) for both ways")
class DropoutFactorsSaved(Function):
    @staticmethod
    def forward(ctx, x, p):
        factors = torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)
        ctx.save_for_backward(factors)
        return x * factors

    @staticmethod
    def backward(ctx, g):
        (factors,) = ctx.saved_tensors
        return g * factors, None


@wrong(
    "corpus/dropout",
    "keeps_p",
    "keeps an element with probability p, scaled for 1 - p: right for p = 0.5 alone",
)
class DropoutKeepsP(Function):
    @staticmethod
    def forward(ctx, x, p):
        kept = torch.rand_like(x) < p
        ctx.save_for_backward(kept)
        ctx.scale = 1 / (1 - p)
        return x * kept * ctx.scale

    @staticmethod
    def backward(ctx, g):
        (kept,) = ctx.saved_tensors
        return g * kept * ctx.scale, None
