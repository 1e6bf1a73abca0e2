"""Cases: fake quantization."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right(
    "fake_quantize",
    "window_on_rounded",
    "mask on the rounded integer, ends included, as torch.fake_quantize does",
)
class QuantizeWindowOnRounded(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        q = (x / s).round()
        ctx.save_for_backward((q >= lo) & (q <= hi))
        return q.clamp(lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@right("fake_quantize", "detach_trick", "not a Function at all: clamp, then x + (q - x).detach()")
def quantize_detach_trick(x, s, lo, hi):
    r = torch.round(x / s).detach()
    keep = (r >= lo) & (r <= hi)
    q = r.clamp(lo, hi) * s
    lin = torch.where(keep, x, x.detach())
    return q + (lin - lin.detach())


@wrong("fake_quantize", "no_window", "gradient passes for saturated inputs")
class QuantizeNoWindow(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        return torch.clamp(torch.round(x / s), lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g, None, None, None


@wrong("fake_quantize", "scaled_gradient", "divides by the scale but forgets to multiply back: g / s")
class QuantizeScaledGradient(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        ctx.s = s
        ctx.save_for_backward((x / s >= lo) & (x / s <= hi))
        return torch.clamp(torch.round(x / s), lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] / ctx.s, None, None, None


@wrong("fake_quantize", "integer_window_on_real_x", "compares the real-valued x with the integer bounds")
class QuantizeIntegerWindowOnRealX(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        ctx.save_for_backward((x >= lo) & (x <= hi))
        return torch.clamp(torch.round(x / s), lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong(
    "fake_quantize",
    "window_strict_on_rounded",
    "strict window on the ROUNDED value: everything rounding onto a bound loses its gradient",
)
class QuantizeWindowStrictOnRounded(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        q = torch.round(x / s)
        ctx.save_for_backward((q > lo) & (q < hi))
        return torch.clamp(q, lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong(
    "fake_quantize",
    "window_on_unrounded",
    "window on x/s before rounding: half a step too narrow at either end",
)
class QuantizeWindowOnUnrounded(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        v = x / s
        ctx.save_for_backward((v >= lo) & (v <= hi))
        return torch.clamp(v.round(), lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong("fake_quantize", "floor_instead_of_round", "floor(v + .5): differs from round-half-to-even on ties")
class QuantizeFloorInsteadOfRound(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        v = x / s
        r = v.round()
        ctx.save_for_backward((r >= lo) & (r <= hi))
        return torch.floor(v + 0.5).clamp(lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong("fake_quantize", "truncates_to_int", "casts through int32: result comes back as float32 and truncates")
class QuantizeTruncatesToInt(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        v = x / s
        ctx.save_for_backward((v >= lo) & (v <= hi))
        return v.to(torch.int32).clamp(lo, hi).float() * s

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong("fake_quantize", "forgets_rescale", "returns the integer code instead of the dequantised value")
class QuantizeForgetsRescale(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        v = x / s
        ctx.save_for_backward((v >= lo) & (v <= hi))
        return v.round().clamp(lo, hi)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None, None, None


@wrong(
    "fake_quantize",
    "clamp_ste_doubles",
    "x + (q - x).detach() without treating saturation: gradient 1 outside the range",
)
def quantize_clamp_ste_doubles(x, s, lo, hi):
    q = torch.clamp(torch.round(x / s), lo, hi) * s
    return x + (q - x).detach()


@right("corpus/lsq", "where_chain")
class LsqWhereChain(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        v = x / s
        q = v.round().clamp(lo, hi)
        ctx.save_for_backward(v)
        ctx.rng = (lo, hi)
        return q * s

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        lo, hi = ctx.rng
        per = torch.where(
            v < lo, torch.full_like(v, lo), torch.where(v > hi, torch.full_like(v, hi), torch.round(v) - v)
        )
        gx = torch.where((v >= lo) & (v <= hi), g, torch.zeros_like(g)) if ctx.needs_input_grad[0] else None
        gs = torch.sum(g * per) if ctx.needs_input_grad[1] else None
        return gx, gs, None, None


@wrong("corpus/lsq", "scale_grad_mean", "mean instead of sum over the elements the scale was broadcast to")
class LsqScaleGradMean(Function):
    @staticmethod
    def forward(ctx, x, s, lo, hi):
        ctx.save_for_backward(x, s)
        ctx.lo, ctx.hi = lo, hi
        return torch.round(x / s).clamp(lo, hi) * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        v = x / s
        low, high = v < ctx.lo, v > ctx.hi
        mid = ~(low | high)
        ds = low * ctx.lo + high * ctx.hi + mid * (v.round() - v)
        return g * mid, (g * ds).mean(), None, None
