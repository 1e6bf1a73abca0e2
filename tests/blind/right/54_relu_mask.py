# right: packs the mask to one bit per element
import torch
from torch.autograd import Function


_BITS = torch.arange(8, dtype=torch.uint8)


class MaskReLU(Function):
    @staticmethod
    def forward(ctx, x):
        flat = (x > 0).reshape(-1)
        rows = -(-flat.numel() // 8)
        padded = torch.zeros(rows * 8, dtype=torch.uint8, device=x.device)
        padded[: flat.numel()] = flat
        weights = torch.bitwise_left_shift(torch.ones_like(_BITS), _BITS).to(x.device)
        packed = (padded.view(rows, 8) * weights).sum(1, dtype=torch.uint8)
        ctx.save_for_backward(packed)
        ctx.shape = x.shape
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (packed,) = ctx.saved_tensors
        bits = torch.bitwise_right_shift(packed.unsqueeze(1), _BITS.to(packed.device)).bitwise_and(1)
        mask = bits.reshape(-1)[: ctx.shape.numel()].reshape(ctx.shape).bool()
        return torch.where(mask, grad_output, torch.zeros_like(grad_output))
