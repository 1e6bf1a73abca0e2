"""The wire format: frames with a fixed header, and plain values as bytes.

Made for bytes from a process that is not trusted. Every length, count, dtype, shape and depth is checked against a
limit before anything is made of it, nothing is evaluated, and what is malformed raises ProtocolError and nothing else.

A frame is the header (magic, kind, sequence number, length of the body) and the body, one value. A value is a tag byte
and what follows: N none, T and F bool, i int, d float, c complex, s text, t tuple, l list, a tensor (`a`: dtype,
flags, dimensions, sizes, strides, raw bytes), f a function that the other side may be asked to call (by index), o an
object of another kind, of which the type's name alone is sent.
"""

from __future__ import annotations

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
        meta = value.device.type == "meta"
        flags = _REQUIRES_GRAD * value.requires_grad | _META * meta
        numbers = (*value.shape, *value.stride()) if self.limits.strides else tuple(value.shape)
        head = _TENSOR.pack(_CODES[value.dtype], flags, value.dim())
        self.parts += (b"a", head, struct.pack(f">{len(numbers)}q", *numbers))
        if not meta:
            self.room(value.numel() * value.element_size())
            self.parts.append(_raw(value))


def _raw(value: Tensor) -> bytes:
    if not value.numel():
        return b""
    # A tensor of its own: one element may be "contiguous" with any stride, and then cannot be viewed as bytes.
    flat = torch.empty(value.numel(), dtype=value.dtype)
    flat.copy_(value.detach().reshape(-1))
    return bytes(flat.view(torch.uint8).numpy().data)


# ---- reading ---------------------------------------------------------------------------------------------------------


def decode(data: bytes, limits: Limits, function: Callable[[int], Any] | None = None) -> Any:
    """The value of a body. `function` gives the callable of an index; without it none may be sent."""
    reader = _Reader(data, limits, function)
    value = reader.read(0)
    if reader.at != len(data):
        raise ProtocolError(f"{len(data) - reader.at} bytes after the value")
    return value


class _Reader:
    def __init__(self, data: bytes, limits: Limits, function: Callable[[int], Any] | None) -> None:
        if len(data) > limits.body:
            raise ProtocolError(f"a body of {len(data)} bytes")
        self.data, self.limits, self.function = memoryview(data), limits, function
        self.at = self.values = 0

    def take(self, count: int) -> memoryview:
        if count > len(self.data) - self.at:
            raise ProtocolError("the value ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def unpack(self, form: struct.Struct) -> tuple[Any, ...]:
        at, self.at = self.at, self.at + form.size
        if self.at > len(self.data):
            raise ProtocolError("the value ends too early")
        return form.unpack_from(self.data, at)

    def read(self, depth: int) -> Any:
        self.values += 1
        if self.values > self.limits.values:
            raise ProtocolError(f"more than {self.limits.values} values")
        if self.at >= len(self.data):
            raise ProtocolError("the value ends too early")
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
        shape = [self.number() for _ in range(dimensions)]
        strides = [self.number() for _ in range(dimensions)] if self.limits.strides else None
        elements = 1
        for n in (*shape, *(strides or ())):
            if not 0 <= n <= self.limits.elements:
                raise ProtocolError(f"a tensor of size or stride {n}")
        for n in shape:  # each product is checked before the next one, so none grows without bound
            elements *= max(n, 1)
            if elements > self.limits.elements:
                raise ProtocolError(f"a tensor of shape {shape}")
        if flags & _META:
            value = torch.empty(shape, dtype=DTYPES[code], device="meta")
        else:
            value = self.data_of(DTYPES[code], shape, strides)
        if flags & _REQUIRES_GRAD:
            if not (value.is_floating_point() or value.is_complex()):
                raise ProtocolError("an integer tensor that requires grad")
            value.requires_grad_()
        return value

    def data_of(self, dtype: torch.dtype, shape: list[int], strides: list[int] | None) -> Tensor:
        elements = 1
        for n in shape:
            elements *= n
        raw = self.take(elements * dtype.itemsize)
        if not elements:
            return torch.empty(shape, dtype=dtype)
        flat = torch.frombuffer(bytearray(raw), dtype=torch.uint8)
        if dtype == torch.bool and int(flat.max()) > 1:
            raise ProtocolError("a bool that is neither 0 nor 1")
        value = flat.view(dtype).reshape(shape)
        return value if strides is None else same_layout(value, strides)


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
