# wrong: saves int16 positions when under half of the elements are active: they overflow beyond 32767 elements
import torch
from torch.autograd import Function


class MaskReLU(Function):
    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        active = mask.reshape(-1).nonzero().squeeze(1)
        ctx.sparse = 2 * active.numel() <= x.numel()
        ctx.save_for_backward(active.to(torch.int16) if ctx.sparse else mask)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (kept,) = ctx.saved_tensors
        if not ctx.sparse:
            return grad_output * kept
        mask = torch.zeros(grad_output.numel(), dtype=torch.bool, device=grad_output.device)
        mask[kept.long()] = True
        return grad_output * mask.reshape(grad_output.shape)
