# wrong: clamps y at 1e-5 "for stability": entries of very small probability get a gradient that is far too large
import torch


def vjp_softmax(g, y):
    inner = (g * y).sum(-1, keepdim=True)
    return y.clamp(min=1e-5) * (g - inner)
