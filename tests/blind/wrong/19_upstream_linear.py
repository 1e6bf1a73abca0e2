# wrong: tests v(a g) = a v(g) only (many sizes, both signs), never a sum: an odd, homogeneous, non-additive backward (sign(g) * |g|_2, or only the largest g passes) is called linear
import torch


def upstream_linear(apply, x):
    leaf = x.detach().clone().requires_grad_()
    y = apply(leaf)
    rng = torch.Generator().manual_seed(5)

    def v(g):
        return torch.autograd.grad(y, leaf, g.clone(), retain_graph=True)[0]

    for _ in range(5):
        g = torch.randn(y.shape, generator=rng, dtype=y.dtype)
        once = v(g)
        for a in (-1.0, 1e-2, -7.3, 250.0, 1e4, -3e5):
            want = a * once
            if not torch.allclose(v(a * g), want, rtol=1e-8, atol=1e-10 * max(1.0, want.abs().max().item())):
                return False
    return True
