# wrong: asks "is any difference > atol?", which NaN answers with no: a backward that returns NaN is called right
import torch


def my_gradcheck(fn, inputs, eps=1e-6, atol=1e-5):
    leaves = [t.detach().clone().requires_grad_() for t in inputs]
    y = fn(*leaves)
    rng = torch.Generator().manual_seed(3)
    g = torch.randn(y.shape, generator=rng, dtype=torch.float64)
    try:
        asked = torch.autograd.grad(y, leaves, g, allow_unused=True)
    except RuntimeError:
        return False
    for k, leaf in enumerate(leaves):
        a = torch.zeros_like(leaf) if asked[k] is None else asked[k]
        measured = torch.zeros(leaf.numel(), dtype=torch.float64)
        for j in range(leaf.numel()):
            values = []
            for by in (eps, -eps):
                step = torch.zeros(leaf.numel(), dtype=torch.float64)
                step[j] = by
                moved = [t.detach() for t in leaves]
                moved[k] = moved[k] + step.reshape(leaf.shape)
                values.append((g * fn(*moved)).sum().detach())
            measured[j] = (values[0] - values[1]) / (2 * eps)
        if bool(((a.reshape(-1) - measured).abs() > atol).any()):
            return False
    return True
