# right: table driven: a two-entry lookup table of slopes indexed by the piece number; the bool piece is saved
import torch
from torch.autograd import Function


def _slopes(like, piece, slope):
    return like.new_tensor([slope, 1.0]).take(piece.long())


class LeakyReLU(Function):
    @staticmethod
    def forward(ctx, x, slope):
        piece = x.gt(0)
        ctx.slope = slope
        ctx.save_for_backward(piece)
        return x * _slopes(x, piece, slope)

    @staticmethod
    def backward(ctx, g):
        (piece,) = ctx.saved_tensors
        return g * _slopes(g, piece, ctx.slope), None
