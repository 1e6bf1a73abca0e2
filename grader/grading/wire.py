"""The wire format: frames with a fixed header, and plain values as bytes.

Made for bytes from a process that is not trusted. Every length, count, dtype, shape and depth is checked against a
limit before anything is made of it, nothing is evaluated, and what is malformed raises ProtocolError and nothing else.

A frame is the header (magic, kind, sequence number, length of the body) and the body, one value. A value is a tag byte
and what follows: N none, T and F bool, i int, d float, c complex, s text, t tuple, l list, a tensor (`a`: dtype,
flags, dimensions, sizes, strides, raw bytes), f a function that the other side may be asked to call (by index), o an
object of another kind, of which the type's name alone is sent.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.local import same_layout

__all__ = [
    "FROM_HOST",
    "FROM_TRUSTED",
    "HEADER",
    "Limits",
    "Opaque",
    "ProtocolError",
    "TooLarge",
    "decode",
    "encode",
    "frame",
    "header_of",
    "opaque",
]

MAGIC = b"cagw"
HEADER = struct.Struct(">4sBIQ")  # magic, kind, sequence number, bytes in the body

_COUNT = struct.Struct(">I")
_INT = struct.Struct(">q")
_FLOAT = struct.Struct(">d")
_COMPLEX = struct.Struct(">dd")
_TENSOR = struct.Struct(">BBB")  # dtype, flags, dimensions

DTYPES: tuple[torch.dtype, ...] = (
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.complex128,
    torch.complex64,
    torch.int64,
    torch.int32,
    torch.int16,
    torch.int8,
    torch.uint8,
    torch.bool,
)
_CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
_REQUIRES_GRAD, _META = 1, 2


class ProtocolError(Exception):
    """Bytes that are not what the protocol says: forged, damaged, too large, or out of turn."""


class TooLarge(Exception):
    """A value that the sender itself finds beyond the limits."""


@dataclass(frozen=True)
class Limits:
    """What one frame may hold.

    body        bytes of the whole body
    values      values in it, each tuple and each of its items counted
    depth       tuples within tuples
    text        bytes of one text
    dimensions  of one tensor
    elements    of one tensor without data (a size on the meta device costs no bytes)
    strides     whether tensors may lie in memory in another order than their elements
    """

    body: int
    values: int = 20_000
    depth: int = 10
    text: int = 100_000
    dimensions: int = 16
    elements: int = 2**40
    strides: bool = False


FROM_HOST = Limits(body=32 * 2**20)
"""What the trusted process accepts."""

FROM_TRUSTED = Limits(body=128 * 2**20, text=16 * 2**20, strides=True)
"""What the process of student code accepts."""


class Opaque:
    """A value that cannot travel: only the name of its type does, as the name of this object's type."""


def opaque(name: str) -> Opaque:
    """An object whose type has the given name and nothing else."""
    made: Opaque = type(name, (Opaque,), {})()
    return made


# ---- frames ----------------------------------------------------------------------------------------------------------


def frame(kind: int, sequence: int, body: bytes) -> bytes:
    """The bytes of a frame."""
    return HEADER.pack(MAGIC, kind, sequence, len(body)) + body


def header_of(data: bytes, limits: Limits) -> tuple[int, int, int]:
    """Kind, sequence number and body length of a header."""
    if len(data) != HEADER.size:
        raise ProtocolError(f"a header of {len(data)} bytes")
    magic, kind, sequence, length = HEADER.unpack(data)
    if magic != MAGIC:
        raise ProtocolError("not a frame")
    if length > limits.body:
        raise ProtocolError(f"a body of {length} bytes, more than the {limits.body} allowed")
    return kind, sequence, length


# ---- writing ---------------------------------------------------------------------------------------------------------


def encode(value: Any, limits: Limits, functions: list[Callable[..., Any]] | None = None) -> bytes:
    """The bytes of a value. Callables are appended to `functions` and sent as their index; without it they are opaque.

    TooLarge where the value is beyond the limits of the process that shall read it.
    """
    writer = _Writer(limits, functions)
    writer.write(value, 0)
    body = b"".join(writer.parts)
    if len(body) > limits.body:
        raise TooLarge(f"{len(body)} bytes, more than {limits.body}")
    return body


class _Writer:
    def __init__(self, limits: Limits, functions: list[Callable[..., Any]] | None) -> None:
        self.limits, self.functions = limits, functions
        self.parts: list[bytes] = []
        self.values = self.large = 0

    def room(self, count: int) -> None:
        """Count the bytes of texts and tensors; the other values are few and small."""
        self.large += count
        if self.large > self.limits.body:
            raise TooLarge(f"more than {self.limits.body} bytes")

    def write(self, value: Any, depth: int) -> None:
        self.values += 1
        if self.values > self.limits.values:
            raise TooLarge(f"more than {self.limits.values} values")
        if value is None or value is True or value is False:
            self.parts.append(_TAGS[value])
        elif isinstance(value, (tuple, list)):
            self.items(value, depth)
        elif isinstance(value, Tensor):
            self.tensor(value)
        else:
            self.scalar(value)

    def scalar(self, value: Any) -> None:
        kind = type(value)
        if kind is str:
            self.text(b"s", value)
        elif kind is int and -(2**63) <= value < 2**63:
            self.parts.append(b"i" + _INT.pack(value))
        elif isinstance(value, float):
            self.parts.append(b"d" + _FLOAT.pack(value))
        elif isinstance(value, complex):
            self.parts.append(b"c" + _COMPLEX.pack(value.real, value.imag))
        elif self.functions is not None and callable(value):
            self.functions.append(value)
            self.parts.append(b"f" + _COUNT.pack(len(self.functions) - 1))
        else:
            self.text(b"o", kind.__name__[:100])

    def text(self, tag: bytes, value: str) -> None:
        data = value.encode("utf-8", "backslashreplace")
        if len(data) > self.limits.text:
            raise TooLarge(f"a text of {len(data)} bytes")
        self.room(len(data))
        self.parts.append(tag + _COUNT.pack(len(data)) + data)

    def items(self, value: Sequence[Any], depth: int) -> None:
        if depth >= self.limits.depth:
            raise TooLarge(f"tuples nested more than {self.limits.depth} deep")
        self.parts.append((b"t" if isinstance(value, tuple) else b"l") + _COUNT.pack(len(value)))
        for item in value:
            self.write(item, depth + 1)

    def tensor(self, value: Tensor) -> None:
        if value.dtype not in _CODES or value.layout != torch.strided or value.dim() > self.limits.dimensions:
            self.text(b"o", "Tensor")
            return
        flags = _REQUIRES_GRAD * value.requires_grad | _META * value.is_meta
        numbers = (*value.shape, *value.stride()) if self.limits.strides else value.shape
        head = _TENSOR.pack(_CODES[value.dtype], flags, value.dim())
        self.parts += (b"a", head, _numbers(len(numbers)).pack(*numbers))
        if not value.is_meta:
            self.room(value.numel() * value.element_size())
            self.parts.append(_raw(value))


def _raw(value: Tensor) -> bytes:
    own = torch.empty(value.shape, dtype=value.dtype, device="cpu")
    own.copy_(value.detach())  # whatever layout the value has
    return ctypes.string_at(own.data_ptr(), own.nbytes)


# ---- reading ---------------------------------------------------------------------------------------------------------


def decode(data: bytes, limits: Limits, function: Callable[[int], Any] | None = None) -> Any:
    """The value of a body. `function` gives the callable of an index; without it none may be sent."""
    reader = _Reader(data, limits, function)
    try:
        value = reader.read(0)
    except (IndexError, struct.error):  # there is no byte left, or too few of them
        raise ProtocolError("the value ends too early") from None
    if reader.at != len(data):
        raise ProtocolError(f"{len(data) - reader.at} bytes after the value")
    return value


class _Reader:
    def __init__(self, data: bytes, limits: Limits, function: Callable[[int], Any] | None) -> None:
        if len(data) > limits.body:
            raise ProtocolError(f"a body of {len(data)} bytes")
        self.data, self.limits, self.function = data, limits, function
        self.at = self.values = 0

    def take(self, count: int) -> bytes:
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise ProtocolError("the value ends too early")
        return self.data[start : self.at]

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        at, self.at = self.at, self.at + form.size
        return form.unpack_from(self.data, at)

    def read(self, depth: int) -> Any:
        self.values += 1
        if self.values > self.limits.values:
            raise ProtocolError(f"more than {self.limits.values} values")
        tag = self.data[self.at]
        self.at += 1
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in (_TUPLE, _LIST):
            return self.items(tag, depth)
        read = _READ.get(tag)
        if read is None:
            raise ProtocolError(f"no value starts with {chr(tag)!r}")
        return read(self)

    def items(self, tag: int, depth: int) -> Any:
        (count,) = self.unpack(_COUNT)
        if depth >= self.limits.depth or count > self.limits.values:
            raise ProtocolError(f"{count} values at depth {depth}")
        items = [self.read(depth + 1) for _ in range(count)]
        return tuple(items) if tag == _TUPLE else items

    def number(self) -> int:
        return int(self.unpack(_INT)[0])

    def floating(self) -> float:
        return float(self.unpack(_FLOAT)[0])

    def complex(self) -> complex:
        return complex(*self.unpack(_COMPLEX))

    def text(self) -> str:
        (count,) = self.unpack(_COUNT)
        if count > self.limits.text:
            raise ProtocolError(f"a text of {count} bytes")
        try:
            return str(self.take(count), "utf-8")
        except UnicodeDecodeError:
            raise ProtocolError("a text that is not UTF-8") from None

    def opaque(self) -> Opaque:
        name = self.text()
        if not name.isidentifier() or len(name) > 100:
            name = "object"
        return opaque(name)

    def callable(self) -> Any:
        (index,) = self.unpack(_COUNT)
        if self.function is None:
            raise ProtocolError("a function where none may be sent")
        return self.function(index)

    def tensor(self) -> Tensor:
        code, flags, dimensions = self.unpack(_TENSOR)
        if code >= len(DTYPES) or flags > (_REQUIRES_GRAD | _META) or dimensions > self.limits.dimensions:
            raise ProtocolError(f"a tensor of dtype {code}, flags {flags}, {dimensions} dimensions")
        numbers = self.unpack(_numbers(2 * dimensions if self.limits.strides else dimensions))
        shape, strides = numbers[:dimensions], numbers[dimensions:]
        elements = self.counted(numbers, shape)
        if flags & _META:
            value = torch.empty(shape, dtype=DTYPES[code], device="meta")
        else:
            value = self.data_of(DTYPES[code], elements, shape)
            if self.limits.strides and elements:  # memory of its own that can be resized, as student code may try
                value = value.clone() if value.stride() == strides else same_layout(value, strides)
        if flags & _REQUIRES_GRAD:
            if not (value.is_floating_point() or value.is_complex()):
                raise ProtocolError("an integer tensor that requires grad")
            value.requires_grad_()
        return value

    def counted(self, numbers: Sequence[int], shape: Sequence[int]) -> int:
        """How many elements a tensor of this shape has; its sizes and strides are in `numbers`."""
        for n in numbers:
            if not 0 <= n <= self.limits.elements:
                raise ProtocolError(f"a tensor of size or stride {n}")
        most = 1
        for n in shape:  # each product is checked before the next one, so none grows without bound
            most *= max(n, 1)
            if most > self.limits.elements:
                raise ProtocolError(f"a tensor of shape {shape}")
        return 0 if 0 in shape else most

    def data_of(self, dtype: torch.dtype, elements: int, shape: Sequence[int]) -> Tensor:
        raw = self.take(elements * dtype.itemsize)
        if not elements:
            return torch.empty(shape, dtype=dtype, device="cpu")  # student code may have set another one
        if dtype == torch.bool and max(raw) > 1:
            raise ProtocolError("a bool that is neither 0 nor 1")
        return torch.frombuffer(bytearray(raw), dtype=dtype).view(shape)


@functools.cache
def _numbers(count: int) -> struct.Struct:
    return struct.Struct(f">{count}q")


_TAGS: dict[Any, bytes] = {None: b"N", True: b"T", False: b"F"}
_CONSTANTS = {ord(tag): value for value, tag in _TAGS.items()}
_TUPLE, _LIST = b"tl"
_READ: dict[int, Callable[[_Reader], Any]] = {
    ord("i"): _Reader.number,
    ord("d"): _Reader.floating,
    ord("c"): _Reader.complex,
    ord("s"): _Reader.text,
    ord("o"): _Reader.opaque,
    ord("f"): _Reader.callable,
    ord("a"): _Reader.tensor,
}
