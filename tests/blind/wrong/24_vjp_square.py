# wrong: 2xg by the identity (x+g)^2 - x^2 - g^2: digits cancel when g is much smaller or larger than x
import torch


def vjp_square(g, x):
    return torch.square(x + g) - torch.square(x) - torch.square(g)
