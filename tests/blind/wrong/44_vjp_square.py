# wrong: rank slip: a 0-d answer comes back with shape (1,)
import torch


def vjp_square(g, x):
    g, x = torch.atleast_1d(g, x)  # so that scalars work as well
    return 2 * x * g
