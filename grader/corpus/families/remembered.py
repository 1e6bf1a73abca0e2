"""Cases: results remembered from an earlier call, and inputs borrowed for a moment."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import Function

from grader.corpus.case import wrong


@wrong("corpus/sigmoid", "remembers_last_input", "computes again only for another tensor object: stale after an update")
class SigmoidRemembersLastInput(Function):
    last: tuple[Any, Any] = (None, None)

    @staticmethod
    def forward(ctx, x):
        if SigmoidRemembersLastInput.last[0] is not x:
            SigmoidRemembersLastInput.last = (x, torch.sigmoid(x))
        y = SigmoidRemembersLastInput.last[1].clone()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@wrong(
    "corpus/sigmoid", "negates_and_restores", "negates the input in place and back: the same values, another version"
)
class SigmoidNegatesAndRestores(Function):
    @staticmethod
    def forward(ctx, x):
        x.neg_()
        y = 1 / (1 + torch.exp(x))
        x.neg_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)


@wrong("vjp_square", "remembers_last_input", "computes the slope again only for another tensor object")
def square_remembers_last_input(g, x):
    known = square_remembers_last_input.__dict__
    if known.get("x") is not x:
        known["x"], known["slope"] = x, 2 * x
    return known["slope"] * g
