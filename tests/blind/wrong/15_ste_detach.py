# wrong: no sum at all: a detached leaf with a hook that calls x.backward(g): fills .grad, but y is not connected to x (autograd.grad(y, x) fails, x without grad fails)
import torch


def ste_detach(f, x):
    y = f(x.detach()).detach().clone().requires_grad_()
    y.register_hook(lambda g: x.backward(g, retain_graph=True))
    return y
