"""Where answers go wrong, against what the calculus says of each known mistake."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.battery import PUBLIC_SEED
from grader.checking import verdict
from grader.exercise import Exercise
from grader.exercises import catalogue, get
from grader.local import LocalSubject
from grader.report import Finding, Report
from grader.subject import Observation, Probe
from grader.where import Grid, Plot, Where
from grader.where.find import MOST_PROBES, find_where


def known(exercise: str, id: str) -> Any:
    found = get(exercise)
    return next(k.thing for k in (*found.misconceptions, *found.variants) if k.id == id)


def where(exercise: str, id: str) -> Where | None:
    return of(get(exercise), known(exercise, id))


def of(exercise: Exercise, thing: Any) -> Where | None:
    return find_where(exercise, LocalSubject(thing), verdict(exercise, thing, PUBLIC_SEED, diagnose=False))


def said_wrong(exercise: Exercise) -> Report:
    """A report of values that differ, whatever the answer is."""
    finding = Finding("value" if exercise.kind == "plain" else "vjp", False)
    return Report(exercise.id, "", False, 0.0, 1, (finding,))


def plots(found: Where | None) -> tuple[Plot, Plot]:
    assert found is not None
    forward, gradient = found.panels
    assert isinstance(forward, Plot)
    assert isinstance(gradient, Plot)
    return forward, gradient


def grids(found: Where | None) -> tuple[Grid, ...]:
    assert found is not None
    assert all(isinstance(panel, Grid) for panel in found.panels)
    return found.panels  # type: ignore[return-value]


def line(plot: Plot, role: str) -> dict[float, float | None]:
    (found,) = (one for one in plot.lines if one.role == role)
    return dict(zip(plot.x, found.y, strict=True))


def shaded(plot: Plot, x: float) -> bool:
    return any(low <= x <= high for low, high in plot.shaded)


# ---- curves ----------------------------------------------------------------------------------------------------------

RELU_MISTAKES: dict[str, tuple[Callable[[float, float], float], tuple[float, ...]]] = {
    # what backward gives at x for the upstream g, and the upstreams 1 and -2 at which it differs somewhere
    "mask_inverted": (lambda x, g: g * (x < 0), (1.0,)),
    "nothing_blocked": (lambda x, g: g, (1.0,)),
    "times_input": (lambda x, g: g * max(x, 0.0), (1.0,)),
    "no_upstream": (lambda x, g: float(x > 0), (-2.0,)),
    "abs_upstream": (lambda x, g: abs(g) * (x > 0), (-2.0,)),
    "sign_flipped": (lambda x, g: -g * (x > 0), (1.0,)),
    "zeros": (lambda x, g: 0.0, (1.0,)),
}


@pytest.mark.parametrize("id", RELU_MISTAKES)
def test_relu_is_shaded_just_where_the_gradients_differ(id: str) -> None:
    backward, (upstream,) = RELU_MISTAKES[id]
    forward, gradient = plots(where("relu", id))
    assert forward.shaded == ()
    assert f"upstream {upstream:g}" in gradient.title
    yours, slope = line(gradient, "yours"), line(gradient, "right")
    assert len(yours) > 100
    for x in gradient.x:
        assert slope[x] == pytest.approx(upstream * (x > 0), abs=1e-4)
        assert yours[x] == pytest.approx(backward(x, upstream), abs=1e-3)
        assert shaded(gradient, x) == (abs(backward(x, upstream) - upstream * (x > 0)) > 1e-3), x


@pytest.mark.parametrize(("exercise", "id"), [(e.id, v.id) for e in catalogue().values() for v in e.variants])
def test_right_answers_have_no_picture(exercise: str, id: str) -> None:
    """Also where a check is said to have failed."""
    found = get(exercise)
    assert find_where(found, LocalSubject(known(exercise, id)), said_wrong(found)) is None


def test_a_kink_is_a_mark_with_what_would_be_right() -> None:
    forward, gradient = plots(where("relu", "counted_twice_at_kink"))
    assert (forward.shaded, gradient.shaded, forward.marks) == ((), (), ())
    (mark,) = gradient.marks
    assert (mark.x, mark.y, mark.low, mark.high) == (0.0, 2.0, 0.0, 1.0)
    _, gradient = plots(where("relu", "output_over_input"))
    assert [(m.x, m.y) for m in gradient.marks] == [(0.0, None)]


def test_a_tie_of_the_forward_is_a_mark() -> None:
    forward, _ = plots(where("sign_clipped", "torch_sign"))
    (mark,) = forward.marks
    assert (mark.x, mark.y, mark.low, mark.high) == (0.0, 0.0, 1.0, 1.0)


def test_a_surrogate_is_shown_as_declared() -> None:
    """For sign(x) with a window the slope of the forward is 0 everywhere, and is not what is compared."""
    _, gradient = plots(where("sign_clipped", "no_window"))
    right = next(one for one in gradient.lines if one.role == "right")
    assert right.label == "declared surrogate slope"
    for x, slope in zip(gradient.x, right.y, strict=True):
        assert slope == float(abs(x) <= 1)
        assert shaded(gradient, x) == (abs(x) > 1)


def test_a_wrong_forward_is_compared_with_the_expected_one() -> None:
    forward, gradient = plots(where("exp", "clipped_forward"))
    expected, mine = line(forward, "right"), line(forward, "yours")
    for x in forward.x:
        assert expected[x] == pytest.approx(math.exp(x), rel=1e-4)
        assert mine[x] == pytest.approx(min(math.exp(x), math.e**3), rel=1e-4)
        assert shaded(forward, x) == (x > 3)
    slope = line(gradient, "right")
    assert all(slope[x] == pytest.approx(math.exp(x) if x < 3 else 0.0, rel=1e-4, abs=1e-4) for x in gradient.x)


def test_nan_is_no_number_and_shaded() -> None:
    _, gradient = plots(where("relu", "elements_left_open"))
    yours = line(gradient, "yours")
    assert all((yours[x] is None) == (x < 0) == shaded(gradient, x) for x in gradient.x)


def test_other_arguments_are_tried_where_the_main_ones_show_nothing() -> None:
    """Right for the usual slope only."""
    leaky = get("leaky_relu")
    (usual,) = leaky.inputs.generic(_draw())[1:]

    class Fixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, slope: float) -> Tensor:
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, slope * x)

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return torch.where(x > 0, g, usual * g), None

    found = of(leaky, Fixed)
    _, gradient = plots(found)
    assert all(shaded(gradient, x) == (x < 0) for x in gradient.x)
    assert found is not None
    assert f"= {usual:.3g}" not in found.words


def _draw() -> Any:
    from grader.inputs import Draw

    return Draw(1)


# ---- matrices --------------------------------------------------------------------------------------------------------


def test_a_jacobian_of_a_norm_that_is_not_divided() -> None:
    """d|x_i|/dx_ij is x_ij / |x_i|; without the division it is x_ij."""
    numeric, yours, difference = grids(where("fix_norm", "not_divided"))
    assert numeric.rows[0] == "y[0]"
    assert numeric.columns[0].startswith("x[0,0")
    size = len(numeric.columns) // len(numeric.rows)
    x = [yours.values[i][i * size + j] for i in range(len(numeric.rows)) for j in range(size)]
    for i, row in enumerate(numeric.values):
        mine = [float(v or 0) for v in x[i * size : (i + 1) * size]]
        for j, value in enumerate(row):
            inside = j // size == i
            right = mine[j % size] / math.hypot(*mine) if inside else 0.0
            assert value == pytest.approx(right, abs=1e-4)
            assert difference.values[i][j] == pytest.approx(mine[j % size] - right if inside else 0.0, abs=1e-4)


def test_a_large_jacobian_shows_the_arguments_that_differ() -> None:
    numeric, yours, _ = grids(where("linear", "bias_averaged"))
    assert {name.split("[")[0] for name in numeric.columns} == {"bias"}
    for right, mine in zip(numeric.values, yours.values, strict=True):
        assert sorted(v or 0.0 for v in right) == pytest.approx([0.0, 1.0], abs=1e-6)
        assert sorted(v or 0.0 for v in mine) == pytest.approx([0.0, 0.5])


def test_a_plain_function_is_compared_with_what_is_expected() -> None:
    expected, yours, difference = grids(where("vjp_square", "factor_forgotten"))
    for right, mine, gap in zip(expected.values, yours.values, difference.values, strict=True):
        assert [2 * float(v or 0) for v in mine] == pytest.approx([float(v or 0) for v in right], rel=1e-3)
        assert gap == pytest.approx(tuple(-float(v or 0) for v in mine), rel=1e-3)


@pytest.mark.parametrize("exercise", ["train_binary", "my_gradcheck", "choose_inputs", "name_the_bug"])
def test_no_picture_where_none_helps(exercise: str) -> None:
    found = get(exercise)
    for mistake in found.misconceptions[:3]:
        assert find_where(found, LocalSubject(mistake.thing), said_wrong(found)) is None


# ---- in any case -----------------------------------------------------------------------------------------------------


class Hostile(LocalSubject):
    """A subject whose every answer is of another kind than the one before."""

    answers = 0

    def observe(self, probe: Probe) -> Observation:
        self.answers += 1
        odd: list[Any] = [(), (None,), ("text",), (torch.ones(2),), (torch.full((161,), float("nan")),)]
        return Observation(outputs=odd[self.answers % 5], grads=(), single=True)


def test_it_never_raises() -> None:
    wrong = known("relu", "mask_inverted")
    report = verdict(get("relu"), wrong, PUBLIC_SEED, diagnose=False)
    assert find_where(get("relu"), Hostile(wrong), report) is None
    assert find_where(get("linear"), Hostile(wrong), report) is None
    assert find_where(get("relu"), LocalSubject(None), report) is None


def test_nothing_is_asked_where_nothing_is_to_be_shown() -> None:
    right = verdict(get("relu"), known("relu", "save_input"), PUBLIC_SEED)
    nothing: Any = None
    assert find_where(get("relu"), nothing, right) is None


@pytest.mark.parametrize("id", ["kept_on_ctx", "detached"])
def test_nothing_is_asked_where_only_state_or_second_order_is_wrong(id: str) -> None:
    nothing: Any = None
    cube = get("cube")
    report = verdict(cube, known("cube", id), PUBLIC_SEED, diagnose=False)
    assert {f.check for f in report.failed} <= {"edited_inputs", "second_order"}
    assert find_where(cube, nothing, report) is None


def test_few_probes_are_asked() -> None:
    asked: list[int] = []

    class Counted(LocalSubject):
        def observe(self, probe: Probe) -> Observation:
            asked.append(1)
            return super().observe(probe)

    linear = get("linear")
    right = Counted(known("linear", linear.variants[0].id))
    assert find_where(linear, right, said_wrong(linear)) is None
    assert 10 < len(asked) <= MOST_PROBES


def test_the_same_each_time_and_the_random_numbers_stay() -> None:
    state = torch.get_rng_state()
    assert where("relu", "times_input") == where("relu", "times_input")
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.slow
@pytest.mark.parametrize("id", catalogue())
def test_every_known_mistake_can_be_looked_at(id: str) -> None:
    for mistake in get(id).misconceptions:
        found = of(get(id), mistake.thing)
        if found is not None:
            assert Where.from_dict(found.to_dict()) == found
            assert len(found.words) < 1000
