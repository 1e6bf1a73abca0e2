"""Functions put before a learner's own checker: right ones, and the same with a known flaw.

A specimen is a forward and a vector-Jacobian product (VJP) wired into a Function. Lesson 04's exercises and
checks use them; nothing here judges anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from grader.inputs import Draw

__all__ = [
    "UPSTREAM_FLAWS",
    "Specimen",
    "Vjp",
    "flawed_everywhere",
    "flawed_in_one_place",
    "function_of",
    "hidden_by_ones",
    "right_ones",
]

Vjp = Callable[..., tuple[Tensor, ...]]


@dataclass(frozen=True)
class Specimen:
    """A callable under test, the tensors to call it with, and the words a message uses for it."""

    name: str
    apply: Callable[..., Tensor]
    inputs: tuple[Tensor, ...]


def function_of(forward: Callable[..., Tensor], vjp: Vjp) -> Callable[..., Tensor]:
    """The `.apply` of a Function made of `forward(*inputs)` and `vjp(g, *inputs)`; it saves its inputs."""

    class Wired(Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Tensor) -> Tensor:
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return vjp(g, *ctx.saved_tensors)

    apply: Callable[..., Tensor] = Wired.apply
    return apply


def _softmax_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    y = torch.softmax(x, -1)
    return (y * (g - (g * y).sum(-1, keepdim=True)),)


def _cube(x: Tensor) -> Tensor:
    return x**3


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def _product(a: Tensor, b: Tensor) -> Tensor:
    return a * b


def _product_vjp(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    return a @ b


def _matmul_vjp(g: Tensor, a: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    return g @ b.T, a.T @ g


def _away(draw: Draw, *shape: int) -> Tensor:
    """Numbers of both signs, none close to 0 or ±1, so that no derivative below is close to zero or to
    another."""
    return draw.uniform(*shape, low=-2.0, high=2.0, off=(0.0, -1.0, 1.0), gap=0.3)


def right_ones(draw: Draw) -> list[Specimen]:
    """Right Functions on contiguous, transposed and sliced inputs, with and without requires_grad, several
    inputs."""
    m, k, n = draw.sizes(3)
    strided = _away(draw, 4, 6)[:, ::2]
    return [
        Specimen("a right cube", function_of(_cube, lambda g, x: (3 * x**2 * g,)), (_away(draw, 2, 3),)),
        Specimen(
            "a right cube whose input already requires grad",
            function_of(_cube, lambda g, x: (3 * x**2 * g,)),
            (_away(draw, 5).requires_grad_(),),
        ),
        Specimen(
            "a right softmax on a transposed input",
            function_of(_softmax, _softmax_vjp),
            (_away(draw, 3, 2).T,),
        ),
        Specimen("a right tanh on a sliced input", function_of(torch.tanh, _tanh_vjp), (strided,)),
        Specimen(
            "a right broadcast product",
            function_of(_product, _product_vjp),
            (_away(draw, 3, 2), _away(draw, 2)),
        ),
        Specimen(
            "a right matrix product",
            function_of(_matmul, _matmul_vjp),
            (_away(draw, m, k), _away(draw, k, n)),
        ),
        Specimen(
            "a right mean, whose output is 0-d", function_of(torch.mean, _mean_vjp), (_away(draw, 2, 3),)
        ),
        Specimen(
            "a right exp of a 0-d tensor", function_of(torch.exp, lambda g, x: (g * x.exp(),)), (_away(draw),)
        ),
    ]


def _tanh_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return (g * (1 - x.tanh() ** 2),)


def _mean_vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
    return (g.expand(x.shape) / x.numel(),)


def flawed_everywhere(draw: Draw) -> list[Specimen]:
    """Functions whose gradient is wrong in (nearly) every element."""
    m, k, n = draw.sizes(3)
    square = draw.normal(4, 4)
    cubes = {
        "a cube with the wrong factor": lambda g, x: (2 * x**2 * g,),
        "a cube with the wrong sign": lambda g, x: (-3 * x**2 * g,),
        "a cube whose gradient is zero": lambda g, x: (torch.zeros_like(x),),
    }
    pair = (_away(draw, 3, 2), _away(draw, 2))
    return [
        *(Specimen(name, function_of(_cube, vjp), (_away(draw, 2, 3),)) for name, vjp in cubes.items()),
        Specimen(
            "a tanh without the square",
            function_of(torch.tanh, lambda g, x: (g * (1 - x.tanh()),)),
            (_away(draw, 4),),
        ),
        Specimen(
            "a linear map that forgets to transpose its matrix",
            function_of(lambda x: square @ x, lambda g, x: (square @ g,)),
            (_away(draw, 4),),
        ),
        Specimen(
            "a product with its two gradients swapped",
            function_of(_product, lambda g, a, b: (g * a, g * b)),
            _two(draw),
        ),
        Specimen(
            "a broadcast product that takes the mean where it must sum",
            function_of(_product, lambda g, a, b: (g * b, (g * a).mean(0))),
            pair,
        ),
        Specimen(
            "a matrix product with the sign of its second gradient flipped",
            function_of(_matmul, lambda g, a, b: (g @ b.T, -a.T @ g)),
            (_away(draw, m, k), _away(draw, k, n)),
        ),
        Specimen(
            "a mean that passes g on undivided",
            function_of(torch.mean, lambda g, x: (g.expand(x.shape),)),
            (_away(draw, 3),),
        ),
    ]


def _two(draw: Draw) -> tuple[Tensor, ...]:
    a = _away(draw, 2, 3)
    return a, -0.6 * a + 0.05


def flawed_in_one_place(draw: Draw) -> list[Specimen]:
    """Functions with one wrong element: the first, the last, one between, or all of the second input
    alone."""

    def cube_wrong_at(place: int) -> Callable[..., Tensor]:
        def vjp(g: Tensor, x: Tensor) -> tuple[Tensor, ...]:
            factor = torch.full((x.numel(),), 3.0, dtype=x.dtype)
            factor[place] = 4.0
            return (factor.reshape(x.shape) * x**2 * g,)

        return function_of(_cube, vjp)

    places = {"the first": 0, "the last": 5, "one inner": draw.integer(1, 4)}
    return [
        *(
            Specimen(f"a cube that is wrong in {name} element only", cube_wrong_at(at), (_away(draw, 2, 3),))
            for name, at in places.items()
        ),
        Specimen(
            "a product that is wrong in the second input only",
            function_of(_product, lambda g, a, b: (g * b, 2 * g * a)),
            _two(draw),
        ),
    ]


def hidden_by_ones(draw: Draw) -> list[Specimen]:
    """Functions that are exactly right for an upstream gradient of ones, and wrong for nearly every other."""
    return [
        Specimen(
            "a cube that forgets the upstream gradient",
            function_of(_cube, lambda g, x: (3 * x**2,)),
            (_away(draw, 2, 3),),
        ),
        Specimen(
            "a cube that averages the upstream gradient",
            function_of(_cube, lambda g, x: (3 * x**2 * g.mean(),)),
            (_away(draw, 4),),
        ),
        Specimen(
            "a softmax whose gradient is always zero",
            function_of(_softmax, lambda g, x: (torch.zeros_like(x),)),
            (_away(draw, 2, 3),),
        ),
        Specimen(
            "a cube that reads the upstream gradient in reverse order",
            function_of(_cube, lambda g, x: (3 * x**2 * g.flip(0),)),
            (_away(draw, 4),),
        ),
    ]


UPSTREAM_FLAWS: dict[str, Callable[[Tensor], Tensor]] = {
    "clamps the upstream gradient to [-1, 1]": lambda g: g.clamp(-1, 1),
    "clamps the upstream gradient to [-100, 100]": lambda g: g.clamp(-100, 100),
    "takes the absolute value of the upstream gradient": torch.abs,
    "takes only the sign of the upstream gradient": torch.sign,
    "squares the upstream gradient": torch.square,
    "divides the upstream gradient by its norm": lambda g: g / (g.norm() + 1e-12),
    "lets only positive upstream gradients pass": lambda g: g.clamp(min=0),
    "ignores the upstream gradient": torch.ones_like,
    "gives every entry the size of the whole upstream gradient": lambda g: g.sign() * g.norm(),
    "lets only the largest entry of the upstream gradient pass": lambda g: g * (g.abs() == g.abs().max()),
}
"""What a backward may do to g that no sum and no multiple survives."""
