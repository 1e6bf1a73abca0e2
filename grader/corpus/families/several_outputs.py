"""Cases: a Function with two outputs."""

from __future__ import annotations

from torch.autograd import Function

from grader.corpus.case import right, wrong


@right("corpus/sincos", "unmaterialised", "set_materialize_grads(False) with None handling")
class SincosUnmaterialised(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs, gc):
        (x,) = ctx.saved_tensors
        out = None
        if gs is not None:
            out = gs * x.cos()
        if gc is not None:
            t = -gc * x.sin()
            out = t if out is None else out + t
        return out


@wrong(
    "corpus/sincos",
    "none_unhandled",
    "set_materialize_grads(False) but None not handled: TypeError when one output is unused",
)
class SincosNoneUnhandled(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs, gc):
        (x,) = ctx.saved_tensors
        return gs * x.cos() - gc * x.sin()


@wrong("corpus/sincos", "one_grad_argument", "backward takes one gradient for two outputs: TypeError")
class SincosOneGradArgument(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs):
        (x,) = ctx.saved_tensors
        return gs * x.cos()


@wrong("corpus/sincos", "drops_second", "second upstream gradient ignored")
class SincosDropsSecond(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs, gc):
        (x,) = ctx.saved_tensors
        return gs * x.cos()


@wrong("corpus/sincos", "cos_sign", "plus sign on the cosine part")
class SincosCosSign(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, gs, gc):
        (x,) = ctx.saved_tensors
        return gs * x.cos() + gc * x.sin()
