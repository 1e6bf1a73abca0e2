"""LocalSubject: what each field of a Probe does, and each fact, against values worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import Function

from grader.guard import TimeLimit, time_limit
from grader.local import LocalSubject, laid_out
from grader.subject import ENDLESS, NOT_A_TENSOR, Layout, Observation, Probe, edited

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
G = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.5]], dtype=torch.float64)
LAYOUTS: tuple[Layout, ...] = ("contiguous", "sliced", "transposed", "expanded")


class Cube(Function):
    """y = x^3: the VJP is 3 x^2 g, its own VJP with respect to (x, g) is (6 x g c, 3 x^2 c)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * g


class Scaled(Function):
    """y = k x y' for a number k and two tensors."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: float, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        ctx.k = k
        return k * x * y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        x, y = ctx.saved_tensors
        return ctx.k * y * g, None, ctx.k * x * g


def observe(target: Any, *args: Any, **probe: Any) -> Observation:
    return LocalSubject(target).observe(Probe(args, **probe))


def close(got: Tensor | None, right: Tensor) -> None:
    assert got is not None
    torch.testing.assert_close(got, right, rtol=1e-13, atol=1e-13)


def from_forward(forward: Callable[[Any, Tensor], Any], backward: Callable[..., Any] | None = None) -> type[Function]:
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward or (lambda ctx, g: g))}
    return type("Made", (Function,), members)


# ---- what is run ---------------------------------------------------------------------------------------------------


def test_output_and_gradient() -> None:
    seen = observe(Cube, X, upstream=((G,), (2 * G,)))
    assert seen.failure is None
    close(seen.output, X**3)
    close(seen.grads[0][0], 3 * X**2 * G)
    close(seen.grads[1][0], 6 * X**2 * G)
    assert seen.facts.backward_calls == 2
    assert seen.facts.is_function
    assert seen.facts.requires_grad == (True,)


def test_the_callers_tensors_are_never_handed_over() -> None:
    def scribbles(ctx: Any, x: Tensor) -> Tensor:
        x.data.zero_()
        return x.clone()

    x = X.clone()
    seen = observe(from_forward(scribbles), x)
    assert torch.equal(x, X)
    assert seen.facts.inputs_edited


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_change_memory_and_not_values(layout: Layout) -> None:
    strides: list[tuple[int, ...]] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        strides.append(x.stride())
        return Cube.forward(ctx, x)

    def backward(ctx: Any, g: Tensor) -> Any:
        strides.append(g.stride())
        return Cube.backward(ctx, g)

    x, g, right = X, G, 3 * X**2 * G
    if layout == "expanded":  # made from the first element alone, which then gets the whole gradient
        x, g, right = torch.full_like(X, 0.5), torch.full_like(X, 2.0), torch.zeros_like(X)
        right[0, 0] = X.numel() * 3 * 0.5**2 * 2.0
    seen = observe(from_forward(forward, backward), x, upstream=((g,),), input_layout=layout, upstream_layout=layout)
    close(seen.output, x**3)
    close(seen.grads[0][0], right)
    expected = {"contiguous": (3, 1), "sliced": (6, 2), "transposed": (1, 2), "expanded": (0, 0)}[layout]
    assert strides == [expected, expected]


def test_a_sliced_layout_has_something_else_in_its_gaps() -> None:
    whole = laid_out(X, "sliced")._base
    assert whole is not None
    assert bool(torch.isnan(whole[..., 1]).all())
    integers = laid_out(torch.arange(3), "sliced")
    assert integers.tolist() == [0, 1, 2]


def test_arguments_are_leaves_only_where_asked() -> None:
    leaves: list[bool] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        leaves.append(x.is_leaf)
        return 2 * x

    made = from_forward(forward)
    observe(made, X, leaf=True)
    observe(made, X)
    assert leaves == [True, False]


def test_wanted_says_which_arguments_require_grad() -> None:
    seen = observe(Scaled, X, 2.0, G, upstream=((G,),), wanted=(False, False, True))
    x, number, y = seen.grads[0]
    assert x is None
    assert number is None
    close(y, 2 * X * G)


def test_no_gradient_is_recorded_under_no_grad() -> None:
    seen = observe(Cube, X, grad_enabled=False)
    close(seen.output, X**3)
    assert seen.facts.requires_grad == (False,)


@pytest.mark.parametrize("what", ["edit_inputs", "edit_outputs"])
def test_an_edit_meanwhile_is_noticed_by_save_for_backward(what: str) -> None:
    class SavesOutput(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            return g * ctx.saved_tensors[0]

    target = Cube if what == "edit_inputs" else SavesOutput
    seen = observe(target, X, upstream=((G,),), meanwhile=what)
    assert seen.failure is not None
    assert seen.failure.stage == "backward"
    assert "modified by an inplace operation" in seen.failure.message


def test_an_edit_meanwhile_goes_into_what_is_kept_on_ctx() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x**3

    made = from_forward(forward, lambda ctx, g: 3 * ctx.x**2 * g)
    seen = observe(made, X, upstream=((G,),), meanwhile="edit_inputs")
    close(seen.grads[0][0], 3 * edited(X) ** 2 * G)
    assert seen.facts.attributes == ("x",)


def test_another_call_meanwhile_meets_state_on_the_class() -> None:
    kept: list[Tensor] = []

    def forward(ctx: Any, x: Tensor) -> Tensor:
        kept[:] = [x]
        return x**3

    made = from_forward(forward, lambda ctx, g: 3 * kept[0] ** 2 * g)
    other = torch.full_like(X, 10.0)
    seen = observe(made, X, upstream=((G,),), meanwhile="other_call", other=(other,))
    close(seen.grads[0][0], 300 * G)
    close(observe(Cube, X, upstream=((G,),), meanwhile="other_call", other=(other,)).grads[0][0], 3 * X**2 * G)


def test_a_shared_input_also_gets_the_sines_gradient() -> None:
    seen = observe(Cube, X, upstream=((G,),), shared=True)
    close(seen.grads[0][0], 3 * X**2 * G + torch.cos(X))


def test_second_order_is_the_vjp_of_the_vjp() -> None:
    c = torch.tensor([[2.0, 1.0, -1.0], [0.5, -3.0, 1.0]], dtype=torch.float64)
    seen = observe(Cube, X, upstream=((G,),), second=(c,))
    assert seen.second is not None
    close(seen.second[0][0], 6 * X * G * c)
    close(seen.second[1][0], 3 * X**2 * c)


def test_a_second_derivative_that_refuses_is_a_failure_of_its_stage() -> None:
    from torch.autograd.function import once_differentiable

    made = from_forward(Cube.forward, once_differentiable(Cube.backward))
    seen = observe(made, X, upstream=((G,),), second=(G,))
    assert seen.failure is not None
    assert seen.failure.stage == "second"
    assert "once_differentiable" in seen.failure.message


class WithRules(Cube):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:  # type: ignore[override]
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, t: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2 * t


def test_vmap_runs_over_the_first_dimension() -> None:
    stacked = torch.stack([X, 2 * X, -X, X])
    seen = observe(WithRules, stacked, wanted=(True,), transform="vmap")
    close(seen.output, stacked**3)


def test_jvp_gives_the_jacobian_times_the_tangent() -> None:
    seen = observe(WithRules, X, upstream=((G,),), transform="jvp")
    close(seen.output, 3 * X**2 * G)


def test_only_a_class_that_has_a_rule_claims_it() -> None:
    plain, with_rules = LocalSubject(Cube), LocalSubject(WithRules)
    assert [plain.claims("vmap"), plain.claims("jvp")] == [False, False]
    assert [with_rules.claims("vmap"), with_rules.claims("jvp")] == [True, True]
    assert not LocalSubject(torch.sin).claims("vmap")


def test_the_meta_device_runs_shapes_and_finds_cpu_tensors() -> None:
    seen = observe(Cube, X, upstream=((G,),), device="meta")
    assert seen.failure is None
    assert (seen.output.device.type, tuple(seen.output.shape)) == ("meta", (2, 3))
    assert seen.facts.inputs_edited is False
    mixed = from_forward(lambda ctx, x: torch.zeros(x.shape, dtype=x.dtype) + x)
    failure = observe(mixed, X, device="meta").failure
    assert failure is not None
    assert "device" in failure.message


def test_a_node_that_holds_its_own_output_is_not_freed() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.y = x.exp()
        return ctx.y  # type: ignore[no-any-return]

    assert observe(from_forward(forward), X, ask_freed=True).facts.freed is False
    assert observe(Cube, X, ask_freed=True).facts.freed is True
    assert observe(Cube, X).facts.freed is None


# ---- what is seen --------------------------------------------------------------------------------------------------


def test_saved_bytes_count_each_storage_once() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.exp()
        ctx.save_for_backward(x, y, x.t())
        ctx.mask = x > 0
        return y

    facts = observe(from_forward(forward), X, ask_saved=True).facts
    assert facts.saved_bytes == 2 * X.numel() * 8 + X.numel()
    assert facts.saved_floats == 2
    assert facts.saved == ("a bool tensor of 6 elements", "an input", "the output")


def test_lists_and_dicts_on_ctx_are_counted() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.kept = {"a": [x + 1], "b": (x + 2, 3)}
        return x.clone()

    facts = observe(from_forward(forward), X, ask_saved=True).facts
    assert facts.saved_bytes == 2 * X.numel() * 8
    assert facts.saved == ("a float64 tensor of 6 elements",) * 2


KEPT: dict[str, Tensor] = {}
OLD = torch.ones(7)


def test_what_is_kept_outside_of_the_node_is_counted() -> None:
    def in_a_global(ctx: Any, x: Tensor) -> Tensor:
        KEPT["x"], KEPT["old"] = x.detach().clone(), OLD
        return x.clone()

    class OnTheClass(Function):
        table = (OLD,)

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            OnTheClass.kept = [x.detach().clone()]  # type: ignore[attr-defined]
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g

    KEPT["old"] = OLD
    for target in (from_forward(in_a_global), OnTheClass):
        assert observe(target, X, ask_saved=True).facts.saved_bytes == X.numel() * 8


def silu_by(differentiate: Callable[[Tensor, Tensor], Tensor]) -> type[Function]:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.nn.functional.silu(x)

    return from_forward(forward, lambda ctx, g: differentiate(ctx.saved_tensors[0], g))


def by_engine(x: Tensor, g: Tensor) -> Tensor:
    with torch.enable_grad():
        y = torch.nn.functional.silu(x)
    run: Any = torch.autograd.Variable._execution_engine.run_backward
    return run((y,), (g,), False, False, (x,), allow_unreachable=True, accumulate_grad=False)[0]  # type: ignore


def by_node(x: Tensor, g: Tensor) -> Tensor:
    with torch.enable_grad():
        node: Any = torch.nn.functional.silu(x).grad_fn
    return node(g)  # type: ignore[no-any-return]


def by_formula(x: Tensor, g: Tensor) -> Tensor:
    s = torch.sigmoid(x)
    return g * s * (1 + x * (1 - s))


@pytest.mark.parametrize(
    ("differentiate", "counted"),
    [
        (by_engine, True),
        (by_node, True),
        (lambda x, g: torch.ops.aten.silu_backward(g, x), True),
        (lambda x, g: torch.func.vjp(torch.nn.functional.silu, x)[1](g)[0], True),
        (by_formula, False),
        (lambda x, g: by_formula(x.detach().clone(), g).clone(), False),
    ],
)
def test_differentiation_inside_backward_is_seen(
    differentiate: Callable[[Tensor, Tensor], Tensor], counted: bool
) -> None:
    seen = observe(silu_by(differentiate), X, upstream=((G,),), ask_autograd=True)
    assert seen.failure is None
    close(seen.grads[0][0], by_formula(X, G))
    assert bool(seen.facts.inner_autograd) is counted


@pytest.mark.parametrize(
    ("forward", "is_input"),
    [
        (lambda ctx, x: x.view(-1), True),
        (lambda ctx, x: x, True),
        (lambda ctx, x: x.clone(), False),
    ],
    ids=["view", "itself", "clone"],
)
def test_an_output_that_shares_memory_with_an_input_is_told(forward: Any, is_input: bool) -> None:
    assert observe(from_forward(forward), X).facts.output_is_input is is_input


def test_a_write_into_the_upstream_is_seen_even_if_undone() -> None:
    def writes(ctx: Any, g: Tensor) -> Tensor:
        return g.mul_(2)

    def writes_and_undoes(ctx: Any, g: Tensor) -> Tensor:
        g.add_(1).sub_(1)
        return g * 1

    for backward in (writes, writes_and_undoes):
        seen = observe(from_forward(lambda ctx, x: x.clone(), backward), X, upstream=((G,),))
        assert seen.facts.upstream_edited
    assert not observe(Cube, X, upstream=((G,),)).facts.upstream_edited


def test_a_write_past_the_version_counter_is_seen_by_its_values() -> None:
    def backward(ctx: Any, g: Tensor) -> Tensor:
        g.data.mul_(2)
        return g * 1

    assert observe(from_forward(lambda ctx, x: x.clone(), backward), X, upstream=((G,),)).facts.upstream_edited


def test_an_engine_run_inside_backward_is_counted() -> None:
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            return torch.autograd.grad(leaf**3, leaf, g)[0]

    seen = observe(from_forward(Cube.forward, backward), X, upstream=((G,),))
    close(seen.grads[0][0], 3 * X**2 * G)
    assert seen.facts.inner_autograd == 1
    assert observe(Cube, X, upstream=((G,),)).facts.inner_autograd == 0


def test_a_leafs_grad_that_backward_fills_is_told() -> None:
    def backward(ctx: Any, g: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        x.grad = 3 * x.detach() ** 2 * g
        return 3 * x**2 * g

    seen = observe(from_forward(Cube.forward, backward), X, upstream=((G,),), leaf=True)
    assert seen.facts.leaf_grad_touched
    assert not observe(Cube, X, upstream=((G,),), leaf=True).facts.leaf_grad_touched


def test_what_backward_returned_is_noted_before_the_engine_repairs_it() -> None:
    def backward(ctx: Any, g: Tensor) -> Any:
        return g.expand(4, 2, 3).float(), None

    seen = observe(from_forward(lambda ctx, x: x.clone(), backward), X, upstream=((G,),))
    (returned,) = seen.returned
    assert returned.container == "tuple"
    assert returned.items == (("tensor", (4, 2, 3), "float32"), ("None", None, None))
    close(seen.grads[0][0], 4 * G)


def test_prints_and_warnings_are_kept_from_the_screen(capfd: pytest.CaptureFixture[str]) -> None:
    import logging
    import sys
    import warnings

    logging.getLogger("student").addHandler(logging.StreamHandler(sys.stderr))

    def forward(ctx: Any, x: Tensor) -> Tensor:
        print("here")
        print("there", file=sys.stderr)
        warnings.warn("careful\nsecond line", stacklevel=1)
        logging.getLogger("student").warning("logged")
        return x.clone()

    facts = observe(from_forward(forward), X).facts
    assert facts.printed == "here\nthere\n"
    assert facts.warnings == ("careful",)
    assert capfd.readouterr() == ("", "")


# ---- what fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (lambda x: 3.0, "float"),
        (lambda x: None, "NoneType"),
        (lambda x: [x.clone()], "list"),
        (lambda x: (x.clone(), (x.clone(),)), "tuple"),
        (lambda x: {"y": x.clone()}, "dict"),
    ],
    ids=["float", "None", "list", "tuple", "dict"],
)
def test_an_output_that_is_no_tensor_is_a_failure(value: Any, name: str) -> None:
    seen = observe(from_forward(lambda ctx, x: value(x)), X, upstream=((G,),))
    assert seen.failure is not None
    assert seen.failure.type == NOT_A_TENSOR
    assert name in seen.failure.message
    assert seen.not_tensors == (name,)


def test_an_exception_names_the_students_line() -> None:
    def backward(ctx: Any, g: Tensor) -> Tensor:
        raise KeyError("lost")  # the line to find

    failure = observe(from_forward(Cube.forward, backward), X, upstream=((G,),)).failure
    assert failure is not None
    assert (failure.stage, failure.type) == ("backward", "KeyError")
    assert 'raise KeyError("lost")' in failure.line


@pytest.mark.parametrize("raised", [SystemExit(3), MemoryError(), RecursionError("deep")], ids=repr)
def test_no_exception_of_the_student_gets_out(raised: BaseException) -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        raise raised

    failure = observe(from_forward(forward), X).failure
    assert failure is not None
    assert failure.type == type(raised).__name__


def test_an_exception_whose_text_cannot_be_read() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    def forward(ctx: Any, x: Tensor) -> Tensor:
        raise Unreadable

    failure = observe(from_forward(forward), X).failure
    assert failure is not None
    assert failure.type == "Unreadable"
    assert "could not be read" in str(failure)


def test_a_time_limit_is_a_failure_of_its_own() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        while True:
            pass

    seen = Observation()
    with pytest.raises(TimeLimit), time_limit(0.2):
        seen = observe(from_forward(forward), X)
    assert seen.failure is not None
    assert (seen.failure.stage, seen.failure.type) == ("forward", ENDLESS)


# ---- plain functions -----------------------------------------------------------------------------------------------


def test_a_plain_function_is_called_on_copies() -> None:
    def scribbles(x: Tensor, k: float) -> tuple[Tensor, float]:
        x.mul_(2)
        return x, k + 1

    x = X.clone()
    seen = LocalSubject(scribbles).call((x, 1.0))
    assert torch.equal(x, X)
    assert not seen.single
    close(seen.outputs[0], 2 * X)
    assert seen.outputs[1] == 2.0
    assert seen.facts.inputs_edited


def test_a_plain_function_that_raises() -> None:
    seen = LocalSubject(lambda x: 1 / 0).call((X,))
    assert seen.failure is not None
    assert (seen.failure.stage, seen.failure.type) == ("call", "ZeroDivisionError")
