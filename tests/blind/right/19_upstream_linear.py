# right: no a, b pairs at all: superposition of many g at once, g = sum of weighted random pieces of sizes 1e-3 .. 1e5, private generator
import torch


def upstream_linear(apply, x):
    leaf = x.detach().clone().requires_grad_()
    y = apply(leaf)
    if not y.requires_grad:
        return True
    rng = torch.Generator().manual_seed(20)

    def v(g):
        (out,) = torch.autograd.grad(y, leaf, g.clone(), retain_graph=True, allow_unused=True)
        return torch.zeros_like(leaf) if out is None else out.detach().clone()

    pieces = []
    for size in (1e-3, 0.3, 1.0, 30.0, 1e3, 1e5):
        pieces.append(size * torch.randn(y.shape, generator=rng, dtype=y.dtype))
        pieces.append(-size * torch.rand(y.shape, generator=rng, dtype=y.dtype))
    answers = [v(g) for g in pieces]
    for i in range(len(pieces)):
        for j in range(i, len(pieces)):
            for a, b in ((1.0, 1.0), (-2.5, 0.5), (3.0, -1.5)):
                left = v(a * pieces[i] + b * pieces[j])
                right = a * answers[i] + b * answers[j]
                size = max((abs(a) * answers[i].abs() + abs(b) * answers[j].abs()).max().item() if leaf.numel() else 0.0,
                           left.abs().max().item() if leaf.numel() else 0.0)
                rounding = 1e-13 * (abs(a) * pieces[i].abs() + abs(b) * pieces[j].abs()).sum().item()
                if not bool(((left - right).abs() <= 1e-9 * size + rounding).all()):
                    return False
    return True
