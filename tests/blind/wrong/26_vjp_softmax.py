# wrong: early exit for constant g uses allclose: every upstream gradient below 1e-8 (or nearly constant) gives zeros
import torch


def vjp_softmax(g, y):
    if torch.allclose(g, g[..., :1].expand_as(g)):
        return torch.zeros_like(y)  # a constant upstream gradient has no effect on a softmax
    return y * (g - (g * y).sum(-1, keepdim=True))
