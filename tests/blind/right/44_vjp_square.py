# right: one fused addcmul instead of arithmetic
import torch


def vjp_square(g, x):
    return torch.addcmul(torch.zeros_like(x), g, x, value=2)
