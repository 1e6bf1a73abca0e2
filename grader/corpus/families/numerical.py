"""Cases: gradients by finite differences, and comparisons with them."""

from __future__ import annotations

import torch

from grader.corpus.case import wrong


@wrong("my_gradcheck", "nan_compares_false", "False only where error > atol: a NaN is never larger than anything")
def gradcheck_nan_compares_false(fn, inputs, eps=1e-6, atol=1e-5):
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        for j in range(grad.numel()):
            step = torch.zeros(grad.numel(), dtype=grad.dtype)
            step[j] = eps
            step = step.reshape(grad.shape)
            up, down = (
                fn(*(x.detach() + sign * step if i == k else x.detach() for i, x in enumerate(xs))) for sign in (1, -1)
            )
            if abs(((up - down) * g).sum() / (2 * eps) - grad.flatten()[j]) > atol:
                return False
    return True
