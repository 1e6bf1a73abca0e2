# wrong: central and clean, but the step is eps * max(1, |x_j|), not the eps it was given: differs for |x_j| > 1
import torch


def numerical_vjp(f, x, g, eps):
    base = x.detach().clone()
    flat = base.reshape(-1)
    out = torch.zeros(flat.numel(), dtype=x.dtype)
    for j in range(flat.numel()):
        h = eps * max(1.0, abs(flat[j].item()))
        step = torch.zeros_like(flat)
        step[j] = h
        step = step.reshape(base.shape)
        out[j] = (g * (f(base + step) - f(base - step))).sum().detach() / (2 * h)
    return out.reshape(x.shape)
