# right: NumPy ndindex over the shape, a generator, fresh clones; the dot product by a closure
import numpy as np
import torch


def numerical_vjp(f, x, g, eps):
    base = x.detach()

    def moved(index, by):
        point = base.clone()
        point[index] = point[index] + by
        return f(point).detach()

    def entry(index):
        return ((moved(index, eps) - moved(index, -eps)) * g.detach()).sum() / (2 * eps)

    answer = torch.zeros(tuple(x.shape), dtype=x.dtype)
    for index in np.ndindex(*x.shape):
        answer[index] = entry(index)
    return answer
