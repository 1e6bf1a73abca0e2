"""The references of the plain-function exercises, each against autograd or a statement of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from grader.exercises import catalogue, get
from grader.inputs import Draw

# Why the others have no test here: their answers are no numbers that another source could compute.
ELSEWHERE = {
    "who_calls_backward": "a quiz; the answer is stated and explained in the lesson",
    "ste_detach": "forward is the function handed in; its gradient is tested with the exercise's own check",
    "train_binary": "a training run; tests/exercises tells that it learns",
    "my_gradcheck": "judged on Functions known to be right or wrong, which tests/exercises proves",
    "choose_inputs": "judged on Functions known to be right or wrong, which tests/exercises proves",
    "upstream_linear": "judged on Functions known to be linear or not, which tests/exercises proves",
    "name_the_bug": "names of Functions whose Jacobians tests/exercises measures",
}


def test_every_plain_exercise_is_here_or_elsewhere() -> None:
    plain = {id for id, e in catalogue().items() if e.kind == "plain"}
    assert plain == {"vjp_square", "vjp_matmul", "vjp_softmax", "numerical_vjp", *ELSEWHERE}


@pytest.mark.parametrize("id", ["vjp_square", "vjp_matmul", "vjp_softmax"])
def test_hand_written_vector_jacobian_products(id: str) -> None:
    inputs = get(id).inputs
    draw = Draw(3)
    for args in [inputs.generic(draw), *(s.args for s in (*inputs.variants(draw), *inputs.edges(draw)))]:
        torch.testing.assert_close(get(id).reference.forward(*args), by_autograd(id, *args))


def by_autograd(id: str, g: torch.Tensor, *given: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
    if id == "vjp_softmax":  # its argument is the output y; the logits are log y, up to a constant
        given = (torch.log(given[0]),)
    xs = [x.clone().requires_grad_() for x in given]
    ops: dict[str, Callable[..., torch.Tensor]] = {
        "vjp_square": lambda x: x.square(),
        "vjp_matmul": torch.mm,
        "vjp_softmax": lambda x: x.softmax(-1),
    }
    grads = torch.autograd.grad(ops[id](*xs), xs, g)
    return grads[0] if len(grads) == 1 else grads


def test_numerical_vjp_converges_to_autograd() -> None:
    f, x, g, _ = get("numerical_vjp").inputs.generic(Draw(5))
    leaf = x.clone().requires_grad_()
    (exact,) = torch.autograd.grad(f(leaf), leaf, g)
    errors = [float((get("numerical_vjp").reference.forward(f, x, g, eps) - exact).abs().max()) for eps in (1e-2, 1e-3)]
    assert errors[1] < 1e-5
    assert 80 < errors[0] / errors[1] < 120  # central differences: the error falls with the square of the step
