# right: stack of an exact zero that carries the gradient and the constant value, summed over the new dimension; f sees a private copy
import torch


def ste_detach(f, x):
    frozen = x.detach()
    with torch.no_grad():
        value = f(frozen.clone())
    return torch.stack((x - frozen, value)).sum(0)
