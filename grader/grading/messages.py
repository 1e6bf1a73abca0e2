"""Probes, observations and their parts as plain values for the wire, and back.

What comes from the host is taken apart by hand: each field must be of its type, within its limits, and in its place.
Anything else raises ProtocolError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from typing import Any

from torch import Tensor

from grader.grading.wire import ProtocolError
from grader.subject import Args, Description, Facts, Failure, Grads, Observation, Probe, Returned

__all__ = [
    "answer",
    "boolean",
    "count",
    "cut",
    "failure",
    "fits",
    "flags",
    "grads",
    "observation",
    "on_device",
    "opened",
    "optional",
    "plain_failure",
    "plain_observation",
    "plain_probe",
    "probe",
    "ran",
    "record",
    "sequence",
    "text",
    "texts",
]

Read = Callable[[Any], Any]
_MANY = 2_000


# ---- what a value must be --------------------------------------------------------------------------------------------


def boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ProtocolError("expected a bool")
    return value


def count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ProtocolError("expected a count")
    return value


def text(value: Any, most: int = 10_000) -> str:
    if type(value) is not str or len(value) > most:
        raise ProtocolError("expected a short text")
    return value


def tensor(value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ProtocolError("expected a tensor")
    return value


def anything(value: Any) -> Any:
    return value


def sequence(read: Read, most: int = _MANY) -> Read:
    """A tuple of at most `most` items, each read by `read`."""

    def whole(value: Any) -> tuple[Any, ...]:
        if type(value) is not tuple or len(value) > most:
            raise ProtocolError("expected a tuple")
        return tuple(read(item) for item in value)

    return whole


def record(*parts: Read) -> Read:
    """A tuple of exactly these parts."""

    def whole(value: Any) -> tuple[Any, ...]:
        if type(value) is not tuple or len(value) != len(parts):
            raise ProtocolError(f"expected a tuple of {len(parts)}")
        return tuple(read(item) for read, item in zip(parts, value, strict=True))

    return whole


def optional(read: Read) -> Read:
    """None, or what `read` takes."""
    return lambda value: None if value is None else read(value)


def parts_of(defaults: tuple[Any, ...], *reads: Read) -> Read:
    """What `_without` gives: all the parts, each that was sent read by its own of `reads`, the others the defaults."""

    def whole(value: Any) -> list[Any]:
        if type(value) is not tuple or not value:
            raise ProtocolError("expected a tuple")
        mask, *sent = value
        if type(mask) is not int or not 0 <= mask < 1 << len(reads) or mask.bit_count() != len(sent):
            raise ProtocolError("expected the parts that a mask names")
        given = iter(sent)
        return [reads[i](next(given)) if mask >> i & 1 else default for i, default in enumerate(defaults)]

    return whole


def _without(defaults: tuple[Any, ...], values: Iterable[Any]) -> tuple[Any, ...]:
    """A mask of the parts that are not their defaults, then those parts: most parts of what is sent are."""
    mask, sent = 0, []
    for i, (value, default) in enumerate(zip(values, defaults, strict=True)):
        if value is not default:
            mask |= 1 << i
            sent.append(value)
    return mask, *sent


def _defaults(kind: type[Any]) -> tuple[Any, ...]:
    return tuple(None if f.default is MISSING else f.default for f in fields(kind))


grads: Read = sequence(optional(tensor))
texts: Read = sequence(text)
flags: Read = sequence(boolean)

# ---- from the trusted process to the host ----------------------------------------------------------------------------

_PROBE = _defaults(Probe)
_read_probe = parts_of(_PROBE, *(anything for _ in _PROBE))


def plain_probe(probe: Probe) -> tuple[Any, ...]:
    """A probe as a tuple of those of its fields that are not the defaults."""
    return _without(_PROBE, vars(probe).values())


def probe(value: Any) -> Probe:
    """The probe of such a tuple; the host believes what the trusted process says."""
    return Probe(*_read_probe(value))


# ---- from the host to the trusted process ----------------------------------------------------------------------------

FACTS: dict[str, Read] = {
    "is_function": boolean,
    "requires_grad": flags,
    "output_is_input": boolean,
    "inputs_edited": boolean,
    "upstream_edited": boolean,
    "leaf_grad_touched": boolean,
    "backward_calls": count,
    "inner_autograd": count,
    "saved_bytes": count,
    "saved_floats": count,
    "saved": texts,
    "attributes": texts,
    "freed": optional(boolean),
    "state_changes": texts,
    "requires_grad_changed": boolean,
    "torch_gradcheck_calls": count,
    "printed": text,
    "warnings": texts,
}
"""How each field of Facts is read, in the order of the class."""

_FAILURE = record(text, text, text, text)
_ITEM = record(text, optional(sequence(count)), optional(text))
_RETURNED = record(text, sequence(_ITEM))
_FACTS = _defaults(Facts)
_SEEN = (*_defaults(Observation)[:-1], _FACTS)
_OBSERVATION = parts_of(
    _SEEN,
    sequence(anything),  # outputs: the type of each is what a check asks
    boolean,
    texts,
    sequence(grads),
    sequence(_RETURNED),
    optional(record(grads, grads)),
    optional(_FAILURE),
    parts_of(_FACTS, *FACTS.values()),
)


def answer(value: Any) -> tuple[bool, Any]:
    """(it went well, the value or the failure) of a reply."""
    good, content = record(boolean, anything)(value)
    return good, content if good else _FAILURE(content)


def failure(value: Any) -> Failure:
    return Failure(*_FAILURE(value))


def ran(value: Any) -> tuple[str, Failure | None]:
    """What a cell showed, and how it failed if it did."""
    shown, failed = record(lambda v: text(v, 200_000), optional(_FAILURE))(value)
    return shown, None if failed is None else Failure(*failed)


def opened(value: Any) -> tuple[Description, Any, int]:
    """What a name stands for, its value if it is a plain one, and the number of its subject."""
    about, content, number = record(record(text, text, text), anything, count)(value)
    return Description(*about), content, number


def plain_failure(failed: Failure) -> tuple[str, str, str, str]:
    """A failure as a tuple of texts short enough to be sent."""
    return cut(failed.stage), cut(failed.type), cut(failed.message), cut(failed.line)


def plain_observation(seen: Observation) -> tuple[Any, ...]:
    """An observation as nested tuples; long texts are cut to what may be sent."""
    parts = (
        tuple(seen.outputs[:_MANY]),
        seen.single,
        cut(seen.not_tensors),
        seen.grads,
        tuple((r.container, r.items[:_MANY]) for r in seen.returned[:_MANY]),
        seen.second,
        None if seen.failure is None else plain_failure(seen.failure),
        _without(_FACTS, map(cut, vars(seen.facts).values())),
    )
    return _without(_SEEN, parts)


def cut(value: Any) -> Any:
    """Texts no longer, and tuples of no more items, than may be sent."""
    if isinstance(value, str):
        return value[:2_000]
    if isinstance(value, tuple):
        return tuple(cut(item) for item in value[:_MANY])
    return value


def observation(value: Any) -> Observation:
    """The observation of such tuples, from a process that is not trusted."""
    outputs, single, not_tensors, delivered, returned, second, failed, facts = _OBSERVATION(value)
    return Observation(
        outputs=outputs,
        single=single,
        not_tensors=not_tensors,
        grads=delivered,
        returned=tuple(Returned(*one) for one in returned),
        second=second,
        failure=None if failed is None else Failure(*failed),
        facts=Facts(*facts),
    )


def fits(seen: Observation, asked: Probe) -> None:
    """Raise ProtocolError unless an observation answers the probe: as many gradients as asked, of the right kind.

    The autograd engine would see to that; here nothing says that the host asked it.
    """
    if seen.failure is not None or asked.transform != "none" or asked.ask_freed:
        return
    if not seen.outputs or (seen.single and len(seen.outputs) != 1):
        raise ProtocolError("no output")
    if len(seen.grads) != len(asked.upstream) or (seen.second is None) != (asked.second is None):
        raise ProtocolError("not the gradients that were asked for")
    for delivered in seen.grads:
        _like(delivered, asked.args)
    if seen.second is not None:
        _like(seen.second[0], asked.args)
        _like(seen.second[1], asked.upstream[0])


def _like(delivered: Grads, args: Args) -> None:
    if len(delivered) != len(args):
        raise ProtocolError(f"{len(delivered)} gradients for {len(args)} arguments")
    for g, a in zip(delivered, args, strict=True):
        if g is not None and not (isinstance(a, Tensor) and g.shape == a.shape and g.dtype == a.dtype):
            raise ProtocolError("a gradient unlike its argument")


def on_device(seen: Observation, device: str) -> None:
    """Raise ProtocolError for a tensor without data where numbers were asked for."""
    parts = [*seen.outputs, *(g for delivered in seen.grads for g in delivered)]
    parts += [g for side in seen.second or () for g in side]
    if device != "meta" and any(isinstance(p, Tensor) and p.device.type == "meta" for p in parts):
        raise ProtocolError("a tensor without data")
