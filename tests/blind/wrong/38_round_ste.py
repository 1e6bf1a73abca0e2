# wrong: rounds by adding and taking away 1.5 * 2^(mantissa bits): wrong integers beyond 2^22 in float32, 512 in float16, 64 in bfloat16
import torch
from torch.autograd import Function


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        magic = 1.5 / torch.finfo(x.dtype).eps
        return (x + magic) - magic

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output
