# right: saves the flat positions of the positive elements (int64), backward copies those of g into zeros by index ops
import torch
from torch.autograd import Function


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        where = torch.nonzero((x > 0).reshape(-1), as_tuple=True)[0]
        ctx.save_for_backward(where)
        return y

    @staticmethod
    def backward(ctx, g):
        (where,) = ctx.saved_tensors
        flat = g.reshape(-1)
        zeros = torch.zeros(flat.shape, dtype=g.dtype, device=g.device)
        return zeros.index_copy(0, where, flat.index_select(0, where)).reshape(g.shape)
