"""Probes and observations survive the way; what is not an observation raises a protocol error."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.grading import messages
from grader.grading.wire import FROM_HOST, FROM_TRUSTED, ProtocolError, decode, encode
from grader.local import LocalSubject
from grader.subject import Facts, Observation, Probe


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.note = "kept"
        return x**3

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return torch.mul(3 * x**2, g)


X, G = torch.tensor([1.0, -2.0]), torch.tensor([3.0, 0.5])
PROBE = Probe((X, 2, None, "how"), upstream=((G,), (None,)), other=(X,), second=(G, None, None, None))


def test_a_probe_survives() -> None:
    sent = encode(messages.plain_probe(PROBE), FROM_TRUSTED)
    got = messages.probe(decode(sent, FROM_TRUSTED))
    for f in fields(Probe):
        assert repr(getattr(got, f.name)) == repr(getattr(PROBE, f.name))


def observed() -> Observation:
    return LocalSubject(Cube).observe(Probe((X,), upstream=((G,),), second=(G,)))


def test_an_observation_survives() -> None:
    seen = observed()
    got = messages.observation(decode(encode(messages.plain_observation(seen), FROM_HOST), FROM_HOST))
    for f in fields(Observation):
        assert repr(getattr(got, f.name)) == repr(getattr(seen, f.name)), f.name
    assert got.facts.attributes == ("note",)


def test_every_fact_is_read() -> None:
    assert list(messages.FACTS) == [f.name for f in fields(Facts)]


def leaves(value: Any) -> list[tuple[Any, ...]]:
    """The path of every part of nested tuples."""
    found: list[tuple[Any, ...]] = [()]
    if isinstance(value, tuple):
        found += [(i, *path) for i, item in enumerate(value) for path in leaves(item)]
    return found


def replaced(value: Any, path: tuple[int, ...], new: Any) -> Any:
    if not path:
        return new
    at, *rest = path
    return (*value[:at], replaced(value[at], tuple(rest), new), *value[at + 1 :])


PLAIN = messages.plain_observation(observed())
odd = st.sampled_from((None, True, -1, 2**62, 0.5, "x", "y" * 20_000, (), (1,), ((),), X, [1], object()))


@settings(max_examples=400)
@given(st.sampled_from(leaves(PLAIN)), odd)
def test_a_forged_part_is_a_part_or_a_protocol_error(path: tuple[int, ...], new: Any) -> None:
    try:
        got = messages.observation(replaced(PLAIN, path, new))
        messages.fits(got, Probe((X,), upstream=((G,),), second=(G,)))
    except ProtocolError:
        return
    assert all(type(getattr(got.facts, f.name)) in (bool, int, str, tuple, type(None)) for f in fields(Facts))


@given(st.integers(-1, 2**9))
def test_whatever_parts_are_left_out_it_is_an_observation_or_a_protocol_error(mask: int) -> None:
    parts = (PLAIN[1],) * max(mask, 0).bit_count()
    with contextlib.suppress(ProtocolError):
        assert isinstance(messages.observation((mask, *parts)).facts, Facts)


@pytest.mark.parametrize(
    "grads",
    [(), ((G, G),), ((torch.ones(3),),), ((torch.ones(2, dtype=torch.float64),),), ((torch.ones(1),),)],
    ids=["none", "too many", "another shape", "another dtype", "one that broadcasts"],
)
def test_gradients_unlike_what_was_asked_do_not_fit(grads: Any) -> None:
    with pytest.raises(ProtocolError):
        messages.fits(Observation(outputs=(X,), grads=grads), Probe((X,), upstream=((G,),)))


def test_a_tensor_without_data_is_refused_where_numbers_were_asked() -> None:
    seen = Observation(outputs=(torch.empty(2, device="meta"),))
    messages.on_device(seen, "meta")
    with pytest.raises(ProtocolError):
        messages.on_device(seen, "cpu")
