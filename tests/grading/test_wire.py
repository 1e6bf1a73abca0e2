"""The wire format gives back what was sent, and anything else is a protocol error, nothing more."""

from __future__ import annotations

import contextlib
import math
import struct
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from grader.grading.wire import (
    DTYPES,
    FROM_HOST,
    FROM_TRUSTED,
    HEADER,
    Limits,
    Opaque,
    ProtocolError,
    TooLarge,
    decode,
    encode,
    frame,
    header_of,
)

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(shapes)
    raw = torch.tensor(draw(st.lists(st.integers(-9, 9), min_size=math.prod(shape), max_size=math.prod(shape))))
    made = raw.reshape(shape).to(dtype)
    if draw(st.booleans()) and made.dim() > 1:
        made = made.transpose(0, 1)
    if draw(st.booleans()):
        made = torch.stack([made, made], -1)[..., 0]
    if draw(st.booleans()) and (made.is_floating_point() or made.is_complex()):
        made = made.detach().requires_grad_()
    return made


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.complex_numbers(), st.text(max_size=20)
)
values = st.recursive(
    st.one_of(scalars, tensors()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.lists(inner, max_size=4).map(tuple)),
    max_leaves=10,
)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Tensor):
        like = (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        return like and torch.equal(a.detach(), b.detach())
    return type(a) is type(b) and struct.pack("16s", repr(a).encode()) == struct.pack("16s", repr(b).encode())


@given(values)
def test_what_is_sent_is_received(value: Any) -> None:
    for limits in (FROM_HOST, FROM_TRUSTED):
        assert same(value, decode(encode(value, limits), limits))


@given(values)
def test_the_memory_layout_comes_along_to_the_host(value: Any) -> None:
    got = decode(encode(value, FROM_TRUSTED), FROM_TRUSTED)
    if isinstance(value, Tensor) and value.numel():
        assert got.stride() == value.stride()


@pytest.mark.parametrize(
    "t", [torch.arange(24.0).reshape(4, 6)[:, ::2], torch.ones(1).expand(3, 2), torch.arange(6.0).reshape(2, 3).T]
)
def test_sliced_expanded_and_transposed_tensors_arrive_as_such(t: Tensor) -> None:
    got = decode(encode(t, FROM_TRUSTED), FROM_TRUSTED)
    assert got.stride() == t.stride()
    assert torch.equal(got, t)


@settings(max_examples=500)
@given(st.binary(max_size=200), st.sampled_from((FROM_HOST, FROM_TRUSTED)))
def test_random_bytes_are_a_value_or_a_protocol_error(data: bytes, limits: Limits) -> None:
    try:
        decode(data, limits, lambda index: None)
    except ProtocolError:
        return


@settings(max_examples=500)
@given(values, st.data())
def test_a_mutated_value_is_a_value_or_a_protocol_error(value: Any, data: st.DataObject) -> None:
    good = bytearray(encode(value, FROM_HOST))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(good) - 1))
        good[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(good)))
    for broken in (bytes(good), bytes(good[:cut])):
        with contextlib.suppress(ProtocolError):
            decode(broken, FROM_HOST)


@given(st.binary(min_size=HEADER.size, max_size=HEADER.size))
def test_a_random_header_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        header_of(data, FROM_HOST)


def test_a_header_is_read_back() -> None:
    whole = frame(3, 7, b"body")
    assert header_of(whole[: HEADER.size], FROM_HOST) == (3, 7, 4)
    with pytest.raises(ProtocolError):
        header_of(frame(3, 7, b"12345")[: HEADER.size], Limits(body=4))


def tensor_head(code: int, flags: int, *numbers: int) -> bytes:
    return b"a" + struct.pack(">BBB", code, flags, len(numbers)) + b"".join(struct.pack(">q", n) for n in numbers)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "nothing"),
        (b"NN", "more than a value"),
        (b"z", "no such tag"),
        (b"s" + struct.pack(">I", 2**31) + b"x", "a text longer than the frame"),
        (b"s" + struct.pack(">I", 2) + b"\xff\xff", "not UTF-8"),
        (b"t" + struct.pack(">I", 2**32 - 1), "four thousand million items"),
        (b"t\x00\x00\x00\x01" * 50 + b"N", "nested too deeply"),
        (b"f\x00\x00\x00\x00", "a function"),
        (tensor_head(99, 0, 1) + b"\x00" * 8, "no such dtype"),
        (tensor_head(0, 0, 2**50), "a tensor of a petabyte"),
        (tensor_head(0, 0, 2**30, 2**30, 2**30), "sizes that overflow"),
        (tensor_head(0, 0, 0, 2**62), "a huge size beside a zero"),
        (tensor_head(0, 0, -1), "a negative size"),
        (tensor_head(0, 0, 2) + b"\x00" * 8, "one element of two"),
        (tensor_head(0, 2, 2**45), "a huge tensor without data"),
        (tensor_head(11, 0, 1) + b"\x07", "a bool of 7"),
        (tensor_head(6, 1, 1) + b"\x00" * 8, "an integer that requires grad"),
        (tensor_head(0, 8, 1) + b"\x00" * 8, "no such flag"),
        (b"a" + struct.pack(">BBB", 0, 0, 200), "two hundred dimensions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_malformed_values_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(ProtocolError):
        decode(data, FROM_HOST)


def test_too_many_values_are_refused_on_both_sides() -> None:
    many = (None,) * 30
    with pytest.raises(TooLarge):
        encode(many, Limits(body=10_000, values=20))
    with pytest.raises(ProtocolError):
        decode(encode(many, FROM_HOST), Limits(body=10_000, values=20))


@pytest.mark.parametrize("value", ["x" * 200_000, torch.zeros(9 * 2**20), (((((((((((1,),),),),),),),),),),)])
def test_the_sender_refuses_what_the_receiver_would(value: Any) -> None:
    with pytest.raises(TooLarge):
        encode(value, FROM_HOST)


class AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True


def test_objects_travel_as_the_name_of_their_type() -> None:
    got = decode(encode((AlwaysEqual(), {"a": 1}, 2**80, torch.float64), FROM_HOST), FROM_HOST)
    assert [type(x).__name__ for x in got] == ["AlwaysEqual", "dict", "int", "dtype"]
    assert all(isinstance(x, Opaque) for x in got)
    assert got[0] != 1


def test_functions_travel_as_an_index_and_only_to_the_host() -> None:
    functions: list[Any] = []
    data = encode((torch.sin, 2.0), FROM_TRUSTED, functions)
    assert functions == [torch.sin]
    assert decode(data, FROM_TRUSTED, functions.__getitem__) == (torch.sin, 2.0)
    assert isinstance(decode(encode(torch.sin, FROM_HOST), FROM_HOST), Opaque)
