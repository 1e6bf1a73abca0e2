# wrong: the saved mask is a view of a stack of two masks, so 2 bytes per element stay in memory
import torch
from torch.autograd import Function


class MaskReLU(Function):
    @staticmethod
    def forward(ctx, x):
        positive, _negative = torch.stack([x > 0, x < 0]).unbind(0)
        ctx.save_for_backward(positive)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (positive,) = ctx.saved_tensors
        return g * positive
