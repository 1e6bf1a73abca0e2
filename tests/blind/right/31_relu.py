# right: saves the flat positions of the active elements, backward scatters their gradients into zeros
import torch
from torch.autograd import Function


class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x < 0, torch.zeros_like(x), x)
        ctx.save_for_backward(y.reshape(-1).nonzero().squeeze(1))
        return y

    @staticmethod
    def backward(ctx, g):
        (active,) = ctx.saved_tensors
        flat = g.reshape(-1)
        out = torch.zeros_like(flat).index_copy(0, active, flat.index_select(0, active))
        return out.reshape(g.shape)
