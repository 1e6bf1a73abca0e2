"""Cases: layer normalisation."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.corpus.case import right, wrong


@right("corpus/layernorm", "three_terms")
class LayernormThreeTerms(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        mu = x.mean(-1, keepdim=True)
        xc = x - mu
        rstd = (xc.pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        xh = xc * rstd
        ctx.save_for_backward(xh, rstd, w)
        return xh * w + b

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        xh, rstd, w = ctx.saved_tensors
        gh = g * w
        gx = rstd * (gh - gh.mean(-1, keepdim=True) - xh * (gh * xh).mean(-1, keepdim=True))
        red = tuple(range(g.dim() - 1))
        gw = (g * xh).sum(red) if red else g * xh
        gb = g.sum(red) if red else g
        return gx, gw, gb, None


@right("corpus/layernorm", "recompute_double", "recomputes everything from x: twice differentiable")
class LayernormRecomputeDouble(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        ctx.save_for_backward(x, w)
        ctx.eps = eps
        return F.layer_norm(x, x.shape[-1:], w, b, eps)

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        xc = x - x.mean(-1, keepdim=True)
        rstd = 1 / torch.sqrt((xc * xc).mean(-1, keepdim=True) + ctx.eps)
        xh = xc * rstd
        gh = g * w
        gx = rstd * (gh - gh.mean(-1, keepdim=True) - xh * (gh * xh).mean(-1, keepdim=True))
        return gx, g * xh, g, None


@wrong("corpus/layernorm", "treats_stats_as_constants", "mean and std treated as constants: gx = g*w*rstd")
class LayernormTreatsStatsAsConstants(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        mu = x.mean(-1, keepdim=True)
        rstd = ((x - mu).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, w, mu, rstd)
        return (x - mu) * rstd * w + b

    @staticmethod
    def backward(ctx, g):
        x, w, mu, rstd = ctx.saved_tensors
        return g * w * rstd, g * (x - mu) * rstd, g, None


@wrong("corpus/layernorm", "weight_grad_mean", "weight gradient averaged over rows")
class LayernormWeightGradMean(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        mu = x.mean(-1, keepdim=True)
        rstd = ((x - mu).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, w, mu, rstd)
        return (x - mu) * rstd * w + b

    @staticmethod
    def backward(ctx, g):
        x, w, mu, rstd = ctx.saved_tensors
        xh = (x - mu) * rstd
        gh = g * w
        gx = rstd * (gh - gh.mean(-1, keepdim=True) - xh * (gh * xh).mean(-1, keepdim=True))
        return gx, (g * xh).reshape(-1, x.shape[-1]).mean(0), g, None


@wrong(
    "corpus/layernorm",
    "saved_stats_double",
    "mean and rstd saved as intermediates: second derivative silently wrong",
)
class LayernormSavedStatsDouble(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        mu = x.mean(-1, keepdim=True)
        rstd = ((x - mu).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, w, mu, rstd)
        return (x - mu) * rstd * w + b

    @staticmethod
    def backward(ctx, g):
        x, w, mu, rstd = ctx.saved_tensors
        xh = (x - mu) * rstd
        gh = g * w
        return (
            rstd * (gh - gh.mean(-1, keepdim=True) - xh * (gh * xh).mean(-1, keepdim=True)),
            g * xh,
            g,
            None,
        )


@wrong(
    "corpus/layernorm",
    "scratch_in_grad_output",
    "uses grad_output as scratch (g.mul_(w)): corrupts the residual branch",
)
class LayernormScratchInGradOutput(Function):
    @staticmethod
    def forward(ctx, x, w, b, eps):
        mu = x.mean(-1, keepdim=True)
        rstd = ((x - mu).pow(2).mean(-1, keepdim=True) + eps).rsqrt()
        ctx.save_for_backward(x, w, mu, rstd)
        return (x - mu) * rstd * w + b

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, w, mu, rstd = ctx.saved_tensors
        xh = (x - mu) * rstd
        gw, gb = (g * xh), g.clone()
        if g.stride(-1) == 1:
            g.mul_(w)
        else:
            g = g * w
        return rstd * (g - g.mean(-1, keepdim=True) - xh * (g * xh).mean(-1, keepdim=True)), gw, gb, None
