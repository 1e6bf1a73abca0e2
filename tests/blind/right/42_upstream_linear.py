# right: homogeneity over nine decades and both signs, plus superposition of three random shares; private generator
import torch


def upstream_linear(apply, x):
    leaf = x.detach().clone().requires_grad_()
    y = apply(leaf)
    if not y.requires_grad:
        return True

    def v(g):
        (out,) = torch.autograd.grad(y, leaf, g.clone(), retain_graph=True, allow_unused=True)
        return torch.zeros_like(leaf) if out is None else out.detach().clone()

    source = torch.Generator().manual_seed(20)

    def same(a, b, size):
        limit = 1e-6 * max(a.abs().max().item(), b.abs().max().item()) + 1e-12 * size
        return bool(((a - b).abs() <= limit).all())

    if x.numel() == 0 or y.numel() == 0:
        return True
    for _ in range(3):
        shares = torch.randn(3, *y.shape, dtype=y.dtype, generator=source)
        parts = [v(s) for s in shares]
        for c in (-1.0, 3e4, -3e4, 1e-5, 250.0):
            if not same(v(c * shares[0]) / c, parts[0], 1.0):
                return False
        weights = (1.0, -700.0, 5e3)
        mixed = v(sum(w * s for w, s in zip(weights, shares, strict=True)))
        expected = sum(w * p for w, p in zip(weights, parts, strict=True))
        if not same(mixed, expected, 5e3):
            return False
    return same(v(torch.zeros_like(y)), torch.zeros_like(leaf), 1.0)
