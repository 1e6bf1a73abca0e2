"""Independent sources for every reference: PyTorch's own operations, differentiated by autograd.

`RIGHT[id]` computes an exercise's forward by other means than its reference; autograd on it gives the gradient. Where
the gradient is declared and not true, `DECLARED[id]` is the function whose derivative is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from grader.exercise import Exercise
from grader.inputs import Draw
from grader.matrix import all_exercises

Op = Callable[..., Any]


def _fake_quantize(x: Tensor, scale: float, low: int, high: int) -> Tensor:
    return torch.fake_quantize_per_tensor_affine(x, scale, 0, low, high)


def _learned_step(x: Tensor, step: Tensor, low: int, high: int) -> Tensor:
    """Rounding by the detach trick, the rest by autograd: clamp passes no gradient beyond the range."""
    code = torch.clamp(x / step, low, high)
    return (code + (torch.round(code) - code).detach()) * step


RIGHT: dict[str, Op] = {
    "double": lambda x: x + x,
    "cube": lambda x: x * x * x,
    "exp": torch.exp,
    "scale_by": torch.mul,
    "linear": F.linear,
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "clamp": torch.clamp,
    "relu_mask": F.relu,
    "swish": F.silu,
    "binarize": lambda x: torch.heaviside(x, x.new_zeros(())),
    "sign_clipped": lambda x: 2 * torch.heaviside(x, x.new_ones(())) - 1,
    "round_ste": torch.round,
    "fake_quantize": _fake_quantize,
    "grad_reverse": lambda x, alpha: x * 1,
    "fix_tanh": F.tanh,
    "fix_mul": torch.mul,
    "fix_norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "corpus/clipped_relu": lambda x, cap: torch.clamp(x, 0, cap),
    "corpus/abs": torch.abs,
    "corpus/square": torch.square,
    "corpus/power": torch.pow,
    "corpus/tanh": F.tanh,
    "corpus/reciprocal": torch.reciprocal,
    "corpus/sigmoid": torch.sigmoid,
    "corpus/softplus": lambda x: torch.logaddexp(x, torch.zeros_like(x)),
    "corpus/swish": F.silu,
    "corpus/np_sin": lambda x: -torch.cos(x + torch.pi / 2),
    "corpus/sp_erf": lambda x: 1 - torch.special.erfc(x),
    "corpus/logsumexp": torch.logsumexp,
    "corpus/softmax": torch.softmax,
    "corpus/log_softmax": torch.log_softmax,
    "corpus/cumsum": lambda x, dim: torch.stack([x.narrow(dim, 0, k + 1).sum(dim) for k in range(x.shape[dim])], dim),
    "corpus/xent": F.cross_entropy,
    "corpus/xent_none": lambda x, target: F.cross_entropy(x, target, reduction="none"),
    "corpus/sumsq": lambda x: torch.linalg.vector_norm(x) ** 2,
    "corpus/mean": torch.mean,
    "corpus/l2norm": lambda x: torch.linalg.vector_norm(x, dim=-1),
    "corpus/amax": torch.amax,
    "corpus/maximum": torch.maximum,
    "corpus/take_rows": lambda x, index: F.embedding(index, x),
    "corpus/matmul": torch.mm,
    "corpus/bmm_any": torch.matmul,
    "corpus/bmul": torch.mul,
    "corpus/bsub": torch.sub,
    "corpus/swish_beta": lambda x, beta: x * torch.sigmoid(x * beta),
    "corpus/linear": F.linear,
    "corpus/linear_nobias": F.linear,
    "corpus/layernorm": lambda x, w, b, eps: F.layer_norm(x, (x.shape[-1],), w, b, eps),
    "corpus/lsq": lambda x, step, low, high: torch.round(x / step).clamp(low, high) * step,
    "corpus/sincos": lambda x: (torch.sin(x), torch.cos(x)),
    "corpus/dropout": lambda x, p: F.dropout(x, 0.0),
}
DECLARED: dict[str, Op] = {
    "binarize": lambda x: x * 1,
    "sign_clipped": F.hardtanh,
    "round_ste": lambda x: x * 1,
    "fake_quantize": _fake_quantize,  # PyTorch has a declared gradient of its own here: the very one we teach
    "grad_reverse": lambda x, alpha: -alpha * x,
    "corpus/lsq": _learned_step,
}


def functions() -> list[Exercise]:
    """Every exercise about a Function, of the course and of the corpus."""
    return [e for e in all_exercises().values() if e.kind == "function"]


def samples(exercise: Exercise) -> Iterator[tuple[Any, ...]]:
    """Honest arguments of every kind the exercise has, away from kinks."""
    inputs = exercise.inputs
    for seed in (1, 2, 3):
        draw = Draw(seed)
        yield inputs.generic(draw)
        for some in (inputs.variants(draw), inputs.edges(draw)):
            yield from (s.args for s in some)
    yield from (s.args for s in inputs.extreme)


def leaves(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments with floating-point tensors as fresh leaves that require grad."""
    return tuple(
        a.detach().clone().requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a for a in args
    )


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def upstream(outputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    draw = Draw(77)
    return tuple(draw.normal(*o.shape, scale=3.0) for o in outputs)


def by_autograd(op: Op, args: tuple[Any, ...], g: tuple[Tensor, ...]) -> tuple[Tensor | None, ...]:
    """The gradients of `op` by autograd, one per argument; zeros where an argument is not used."""
    fresh = leaves(args)
    wanted = [a for a in fresh if isinstance(a, Tensor) and a.requires_grad]
    got = iter(torch.autograd.grad(as_tuple(op(*fresh)), wanted, g, allow_unused=True))
    grads = [next(got) if isinstance(a, Tensor) and a.requires_grad else None for a in fresh]
    return tuple(
        torch.zeros_like(a) if d is None and isinstance(a, Tensor) and a.requires_grad else d
        for a, d in zip(fresh, grads, strict=True)
    )
