"""Draw and the ready-made inputs: seeded, away from kinks, of unequal sizes."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.contract.bench import Bench
from grader.exercises import get
from grader.inputs import Draw, elementwise, push_away
from grader.local import LocalSubject

SEEDS = st.integers(min_value=0, max_value=2**70)
GAPS = st.floats(min_value=0.01, max_value=0.5)


@st.composite
def points_and_gap(draw: st.DrawFn) -> tuple[list[float], float]:
    """Points at least 2.5 gaps apart, which is what staying away from all of them takes."""
    gap = draw(GAPS)
    start = draw(st.floats(min_value=-3, max_value=3))
    steps = draw(st.lists(st.floats(min_value=2.5, max_value=10), max_size=4))
    points = [start]
    for step in steps:
        points.append(points[-1] + step * gap)
    return draw(st.permutations(points)), gap


@given(SEEDS, points_and_gap(), st.sampled_from(["normal", "uniform"]))
def test_every_element_stays_away_from_every_point(seed: int, where: tuple[list[float], float], kind: str) -> None:
    points, gap = where
    draw = Draw(seed)
    make = draw.normal if kind == "normal" else draw.uniform
    x = make(4, 25, off=points, gap=gap)
    assert x.dtype == torch.float64
    for point in points:
        assert float((x - point).abs().min()) >= gap * (1 - 1e-9)


@given(st.floats(min_value=-2, max_value=2), GAPS)
def test_elements_are_pushed_to_the_side_they_were_on(point: float, gap: float) -> None:
    x = torch.tensor([point - gap / 2, point, point + gap / 2, point + 2 * gap], dtype=torch.float64)
    pushed = push_away(x, [point], gap)
    assert torch.equal(pushed < point, x < point)
    assert pushed[3] == x[3]


@given(SEEDS)
def test_the_same_seed_gives_the_same_tensors_whatever_torch_did(seed: int) -> None:
    def take() -> tuple[object, ...]:
        draw = Draw(seed)
        tensors = draw.normal(2, 3), draw.uniform(4, low=-1.0)
        return *(t.tolist() for t in tensors), draw.sizes(3), draw.integer(0, 99), draw.pick("abcdef")

    first = take()
    before = torch.get_rng_state()
    torch.rand(3)
    assert take() == first
    torch.set_rng_state(before)


@given(st.integers(min_value=0, max_value=2**40))
def test_another_seed_gives_other_tensors(seed: int) -> None:
    assert not torch.equal(Draw(seed).normal(5), Draw(seed + 1).normal(5))


@given(SEEDS, st.integers(min_value=1, max_value=7))
def test_sizes_are_all_different_and_never_one(seed: int, count: int) -> None:
    sizes = Draw(seed).sizes(count)
    assert len(set(sizes)) == count
    assert min(sizes) >= 2
    assert max(sizes) <= max(5, count + 1)


@given(SEEDS, st.integers(min_value=-5, max_value=5), st.integers(min_value=0, max_value=5))
def test_integers_stay_within_their_bounds(seed: int, low: int, width: int) -> None:
    assert low <= Draw(seed).integer(low, low + width) <= low + width


def test_both_bounds_are_reached() -> None:
    draw = Draw(0)
    assert {draw.integer(2, 5) for _ in range(200)} == {2, 3, 4, 5}
    assert {draw.pick("ab") for _ in range(50)} == {"a", "b"}


@settings(max_examples=30)
@given(SEEDS)
def test_ready_made_inputs_avoid_the_kinks_of_their_own_arguments(seed: int) -> None:
    inputs = elementwise((-0.5, 1.0), (-2.0, 0.25), off=lambda low, high: (low, high))
    draw = Draw(seed)
    samples = [inputs.generic(draw), *(s.args for s in inputs.variants(draw)), *(s.args for s in inputs.edges(draw))]
    assert {args[1:] for args in samples} == {(-0.5, 1.0), (-2.0, 0.25)}
    for x, *points in samples:
        for point in points:
            assert bool(((x - point).abs() >= 0.1 - 1e-12).all())
    dims = {args[0].dim() for args in samples}
    assert {0, 1, 2, 3} <= dims
    assert any(args[0].numel() == 0 for args in samples)


def test_a_checks_inputs_depend_on_seed_exercise_check_and_salt() -> None:
    def first(seed: int = 1, exercise: str = "relu", check: str = "vjp", salt: str = "") -> list[float]:
        bench = Bench(get(exercise), LocalSubject(None), seed, check)
        drawn: list[float] = bench.draw(salt).normal(3).tolist()
        return drawn

    assert first() == first()
    others = [first(seed=2), first(exercise="cube"), first(check="kinks"), first(salt="x")]
    assert all(other != first() for other in others)
