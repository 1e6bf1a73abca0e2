"""What the exercises of lesson 02 share: ReLU itself, its inputs, and sentences that fit several of them."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.inputs import Kink, elementwise

__all__ = ["LESSON", "NOT_YOURS", "RELU_INPUTS", "TENSOR_ON_CTX", "relu_forward", "relu_vjp", "vector"]

LESSON = "02_relu"

NOT_YOURS = (
    "Your backward writes into grad_output itself. That tensor is not yours: other branches of the graph "
    "read it too. Leave it as it came and return a new tensor."
)
TENSOR_ON_CTX = (
    "You keep a tensor as an attribute of ctx. Autograd can neither watch it for later edits nor free it in "
    "time: inputs and outputs go through ctx.save_for_backward."
)


def vector(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def relu_forward(x: Tensor) -> Tensor:
    return torch.where(x <= 0, 0.0, x)


def relu_vjp(g: Tensor, x: Tensor) -> tuple[Tensor]:
    return (torch.where(x > 0, g, 0.0),)


RELU_INPUTS = elementwise(
    off=(0.0,),
    kinks=(Kink((vector(0.0, -1.0, 2.0),), low=vector(0, 0, 1), high=vector(1, 0, 1)),),
    at_kinks=[(0.0, -0.0, -3.0, 3.0)],
    extreme=(-1e30, 1e30, 5.0, 1e-12, -1e-12),
    nonfinite=(float("nan"), 1.0, -1.0, float("inf"), float("-inf")),
)
