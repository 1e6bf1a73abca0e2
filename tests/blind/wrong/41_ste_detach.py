# wrong: remembers f(x) per tensor object: stale after the optimizer has changed x in place
import torch
from torch.utils.weak import WeakTensorKeyDictionary

_values = WeakTensorKeyDictionary()


def ste_detach(f, x):
    known = _values.setdefault(x, {})
    if f not in known:
        known[f] = f(x.detach()).detach()
    return known[f] + (x - x.detach())
