"""Cases: softmax cross-entropy."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from grader.corpus.case import right, wrong


@right("corpus/xent", "one_hot", "saves logits, recomputes; twice differentiable")
class XentOneHot(Function):
    @staticmethod
    def forward(ctx, logits, target):
        ctx.save_for_backward(logits, target)
        m = logits.max(1, keepdim=True).values
        lse = (logits - m).exp().sum(1).log() + m[:, 0]
        return (lse - logits[torch.arange(logits.shape[0]), target]).mean()

    @staticmethod
    def backward(ctx, g):
        x, t = ctx.saved_tensors
        d = torch.softmax(x, -1) - F.one_hot(t, x.shape[-1]).to(x.dtype)
        return g * d / x.shape[0], None


@wrong("corpus/xent", "forgets_batch_size", "forward mean, backward sum: gradient N times too large")
class XentForgetsBatchSize(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.save_for_backward(lp, y)
        return -lp.gather(1, y[:, None]).mean()

    @staticmethod
    def backward(ctx, g):
        lp, y = ctx.saved_tensors
        p = lp.exp()
        p[torch.arange(len(y)), y] -= 1
        return p * g, None


@wrong("corpus/xent", "log_of_softmax", "log(softmax(x)): -inf loss / nan for confident wrong logits")
class XentLogOfSoftmax(Function):
    @staticmethod
    def forward(ctx, x, y):
        p = torch.softmax(x, 1)
        ctx.save_for_backward(p, y)
        return -p.log().gather(1, y[:, None]).mean()

    @staticmethod
    def backward(ctx, g):
        p, y = ctx.saved_tensors
        d = p.clone()
        d[torch.arange(len(y)), y] -= 1
        return d * g / len(y), None


@wrong(
    "corpus/xent",
    "overwrites_saved_probs",
    "p[...] -= 1 in the SAVED tensor: second backward subtracts again",
)
class XentOverwritesSavedProbs(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.p = lp.exp()
        ctx.y = y
        return -lp.gather(1, y[:, None]).mean()

    @staticmethod
    def backward(ctx, g):
        ctx.p[torch.arange(len(ctx.y)), ctx.y] -= 1
        return ctx.p * g / len(ctx.y), None


@wrong(
    "corpus/xent",
    "gradient_into_logits",
    "writes the gradient into the logits buffer: caller's logits destroyed, auxiliary losses wrong",
)
class XentGradientIntoLogits(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.x = x.detach()
        ctx.y = y
        return -lp.gather(1, y[:, None]).mean()

    @staticmethod
    def backward(ctx, g):
        d = ctx.x.data
        d.copy_(torch.softmax(d, 1))
        d[torch.arange(len(ctx.y)), ctx.y] -= 1
        d.mul_(g / len(ctx.y))
        return d, None


@wrong(
    "corpus/xent",
    "gradient_computed_in_forward_inplace",
    "forward overwrites the logits with their gradient through .data: others that saved them go wrong",
)
class XentGradientComputedInForwardInplace(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        loss = -lp.gather(1, y[:, None]).mean()
        d = x.data
        d.copy_(lp.exp())
        d[torch.arange(len(y)), y] -= 1
        d.div_(len(y))
        ctx.d = d
        return loss

    @staticmethod
    def backward(ctx, g):
        return ctx.d * g, None


@wrong(
    "corpus/xent",
    "clamped_probability",
    "log(p.clamp(1e-7)): loss saturates near 16, gradient does not match the forward",
)
class XentClampedProbability(Function):
    @staticmethod
    def forward(ctx, x, y):
        p = torch.softmax(x, 1)
        ctx.save_for_backward(p, y)
        return -p.clamp(min=1e-7).log().gather(1, y[:, None]).mean()

    @staticmethod
    def backward(ctx, g):
        p, y = ctx.saved_tensors
        return (p - F.one_hot(y, p.shape[1]).to(p.dtype)) * g / len(y), None


@right(
    "corpus/xent",
    "gradient_for_targets",
    "returns a (nonsense) gradient for the integer targets: the engine drops it, harmless",
)
class XentGradientForTargets(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.save_for_backward(lp, y)
        return -lp.gather(1, y[:, None]).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        lp, y = ctx.saved_tensors
        d = lp.exp() - F.one_hot(y, lp.shape[1]).to(lp.dtype)
        return d * g / len(y), d * g


@right("corpus/xent_none", "per_sample", "reduction none: g is a vector")
class XentNonePerSample(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.save_for_backward(lp, y)
        return -lp.gather(1, y[:, None]).squeeze(1)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        lp, y = ctx.saved_tensors
        d = lp.exp()
        d.scatter_add_(1, y[:, None], -torch.ones_like(y, dtype=d.dtype)[:, None])
        return d * g[:, None], None


@wrong(
    "corpus/xent_none",
    "g_on_wrong_axis",
    "d * g without unsqueeze: shape error, silently the wrong axis when N == C",
)
class XentNoneGOnWrongAxis(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        ctx.save_for_backward(lp, y)
        return -lp.gather(1, y[:, None]).squeeze(1)

    @staticmethod
    def backward(ctx, g):
        lp, y = ctx.saved_tensors
        d = lp.exp() - F.one_hot(y, lp.shape[1]).to(lp.dtype)
        return d * g, None


@wrong("corpus/xent", "flat_index_in_place", "turns the caller's targets into flat indices in place")
class XentFlatIndexInPlace(Function):
    @staticmethod
    def forward(ctx, x, y):
        lp = torch.log_softmax(x, 1)
        y += torch.arange(x.shape[0], device=x.device) * x.shape[1]
        ctx.save_for_backward(lp, y.clone())
        return -lp.view(-1)[y].mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        lp, flat = ctx.saved_tensors
        d = lp.exp()
        d.view(-1)[flat] -= 1
        return d * g / lp.shape[0], None
