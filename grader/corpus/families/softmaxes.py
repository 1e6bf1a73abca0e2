"""Cases: softmax, its logarithm and the log-sum-exp."""

from __future__ import annotations

import torch
from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/logsumexp", "save_x_and_out")
class LogsumexpSaveXAndOut(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.logsumexp(x, dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g.unsqueeze(ctx.dim) * torch.exp(x - y.unsqueeze(ctx.dim)), None


@right("corpus/logsumexp", "shifted_max", "own max shift, guards an all -inf row; softmax in backward")
class LogsumexpShiftedMax(Function):
    @staticmethod
    def forward(ctx, x, dim):
        m = x.amax(dim, keepdim=True)
        m = torch.where(torch.isinf(m), torch.zeros_like(m), m)
        y = (x - m).exp().sum(dim).log() + m.squeeze(dim)
        ctx.save_for_backward(x)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.softmax(x, ctx.dim) * g.unsqueeze(ctx.dim), None


@wrong(
    "corpus/logsumexp",
    "no_unsqueeze",
    "g * softmax without unsqueeze: shape error, or (square input) silently the wrong axis",
)
class LogsumexpNoUnsqueeze(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        ctx.dim = dim
        return torch.logsumexp(x, dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.softmax(x, ctx.dim), None


@wrong("corpus/logsumexp", "dim_hard_coded", "backward always uses dim -1")
class LogsumexpDimHardCoded(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.save_for_backward(x)
        return torch.logsumexp(x, dim)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.unsqueeze(-1) * torch.softmax(x, -1), None


@wrong("corpus/logsumexp", "neg_inf_row", "row of -inf: -inf - -inf = nan instead of -inf")
class LogsumexpNegInfRow(Function):
    @staticmethod
    def forward(ctx, x, dim):
        m = x.amax(dim, keepdim=True)
        y = (x - m).exp().sum(dim).log() + m.squeeze(dim)
        ctx.save_for_backward(x)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.softmax(x, ctx.dim) * g.unsqueeze(ctx.dim), None


@right("corpus/softmax", "vjp")
class SoftmaxVjp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(ctx.dim, keepdim=True)), None


@right("corpus/softmax", "explicit_jacobian", "full Jacobian per row: slow, correct")
class SoftmaxExplicitJacobian(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        ym, gm = y.movedim(ctx.dim, -1), g.movedim(ctx.dim, -1)
        J = torch.diag_embed(ym) - ym.unsqueeze(-1) * ym.unsqueeze(-2)
        return torch.einsum("...ij,...j->...i", J, gm).movedim(-1, ctx.dim), None


@wrong("corpus/softmax", "naive_exp", "exp(x)/sum(exp(x)) without shift: nan for large logits")
class SoftmaxNaiveExp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = x.exp()
        y = e / e.sum(dim, keepdim=True)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return y * (g - (g * y).sum(ctx.dim, keepdim=True)), None


@wrong(
    "corpus/softmax",
    "zero_for_unit_g",
    "returns zeros: sum of softmax is constant, so y.sum().backward() cannot tell",
)
class SoftmaxZeroForUnitG(Function):
    @staticmethod
    def forward(ctx, x, dim):
        return torch.softmax(x, dim)

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g), None


@right("corpus/log_softmax", "vjp")
class LogSoftmaxVjp(Function):
    @staticmethod
    def forward(ctx, x, dim):
        y = torch.log_softmax(x, dim)
        ctx.save_for_backward(y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g - y.exp() * g.sum(ctx.dim, keepdim=True), None
