"""The one seam: a Subject is an implementation under test, in this process or in another.

The battery never touches a student's class. It sends a `Probe` (plain data and tensors: what to run) and
reads an `Observation` (plain data and tensors: what happened). A subject decides nothing: no verdict,
tolerance or reference crosses the seam, so the same battery serves a local class and a process that is not
trusted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from torch import Tensor

__all__ = [
    "ENDLESS",
    "GONE",
    "NOT_A_TENSOR",
    "Args",
    "Description",
    "Elsewhere",
    "Facts",
    "Failure",
    "Grads",
    "Layout",
    "Observation",
    "Observer",
    "Probe",
    "Returned",
    "Subject",
    "edited",
]

Args = tuple[Any, ...]
Grads = tuple[Tensor | None, ...]
Layout = Literal["contiguous", "sliced", "transposed", "expanded"]
Meanwhile = Literal["nothing", "edit_inputs", "edit_outputs", "other_call"]
Transform = Literal["none", "vmap", "jvp"]


@dataclass(frozen=True)
class Probe:
    """One run to observe.

    args             tensors and plain values (numbers, None, strings); the subject works on copies
    upstream         one entry per backward pass through the same graph, each with one gradient (or None) per output
    wanted           which arguments require grad; None means every floating-point tensor
    grad_enabled     False: the forward runs under torch.no_grad
    input_layout     how argument tensors lie in memory; likewise upstream_layout. "expanded" makes a stride-0 tensor
                     from the first element
    leaf             the arguments are leaves of the graph themselves (else copies of leaves, as after another layer)
    meanwhile        between forward and backward: edit the inputs or outputs in place, or make a call with `other`
    before           the tensors first hold these values and go through a whole run, then the values of `args` are
                     written into the same tensors in place: only what follows is observed
    shared           each wanted argument x is also used by a sine beside the call: its gradient gains cos(x)
    second           upstream gradients for the returned gradients: asks for the VJP of the VJP
    transform        run the forward under torch.func.vmap over dimension 0 of the arguments with True in `wanted`,
                     or under torch.func.jvp with the tangents in upstream[0] (one per argument)
    device           "meta" runs shapes only, and finds factory calls that ignore the device
    ask_saved        also note what is kept for backward (facts saved, saved_bytes, saved_floats); it takes time
    ask_autograd     also look, inside backward, for operations that differentiate (fact inner_autograd); it takes time
    ask_freed        also make a call whose output is dropped, and see whether its graph node goes with it
    """

    args: Args
    upstream: tuple[Grads, ...] = ()
    wanted: tuple[bool, ...] | None = None
    grad_enabled: bool = True
    input_layout: Layout = "contiguous"
    upstream_layout: Layout = "contiguous"
    leaf: bool = False
    meanwhile: Meanwhile = "nothing"
    other: Args | None = None
    before: Args | None = None
    shared: bool = False
    second: Grads | None = None
    transform: Transform = "none"
    device: Literal["cpu", "meta"] = "cpu"
    ask_saved: bool = False
    ask_autograd: bool = False
    ask_freed: bool = False

    def with_(self, **changes: Any) -> Probe:
        """The same probe with some fields changed."""
        return replace(self, **changes)


NOT_A_TENSOR = "not a tensor"
ENDLESS = "endless loop"
GONE = "process ended"


@dataclass(frozen=True)
class Failure:
    """An exception in student code: where it happened (forward, backward, second, call), its type, text and line.

    Three kinds have no exception: a forward whose result is NOT_A_TENSOR, code that ran into its time limit, ENDLESS,
    and code that ended the process it ran in, GONE.
    """

    stage: str
    type: str
    message: str
    line: str = ""

    def __str__(self) -> str:
        place = f" (at {self.line})" if self.line else ""
        text = self.message.strip().splitlines()[0][:300] if self.message.strip() else "no message"
        return f"{self.type}: {text}{place}"


@dataclass(frozen=True)
class Returned:
    """What one backward call returned before the engine saw it: the container and, per item, kind, shape
    and dtype.

    An item of kind "tensor" has a shape and a dtype; "None" and others (the type's name) have neither.
    """

    container: str
    items: tuple[tuple[str, tuple[int, ...] | None, str | None], ...]


@dataclass
class Facts:
    """Structural observations. They come from the student's process: a hostile one could forge them, values it cannot.

    is_function      the subject is an autograd.Function class; else the facts about its backward say nothing
    backward_calls   how often the class's own backward ran
    saved_bytes      bytes kept for backward in saved tensors and ctx attributes, each storage counted once; this and
                     the next two are noted only where the probe asks for them
    saved_floats     how many different floating-point tensors are kept
    saved            what those tensors are: "an input", "the output", or dtype and size
    requires_grad_changed   an argument of a plain function requires grad now and did not before, or the reverse
    torch_gradcheck_calls   how often a plain function had torch.autograd.gradcheck do the work
    freed            the graph node died with its output, without the garbage collector; None where not asked
    """

    is_function: bool = False
    requires_grad: tuple[bool, ...] = ()
    output_is_input: bool = False
    inputs_edited: bool = False
    upstream_edited: bool = False
    leaf_grad_touched: bool = False
    backward_calls: int = 0
    inner_autograd: int = 0
    saved_bytes: int = 0
    saved_floats: int = 0
    saved: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    freed: bool | None = None
    state_changes: tuple[str, ...] = ()
    requires_grad_changed: bool = False
    torch_gradcheck_calls: int = 0
    printed: str = ""
    warnings: tuple[str, ...] = ()


@dataclass
class Observation:
    """What a probe showed: outputs, delivered gradients per backward pass (one per argument), and the
    facts.

    `not_tensors` names the types of outputs that are no tensors. `second` holds the gradients of the VJP
    with respect to the arguments, then to the upstream. After a failure the fields filled so far stand.
    """

    outputs: tuple[Any, ...] = ()
    single: bool = True
    not_tensors: tuple[str, ...] = ()
    grads: tuple[Grads, ...] = ()
    returned: tuple[Returned, ...] = ()
    second: tuple[Grads, Grads] | None = None
    failure: Failure | None = None
    facts: Facts = field(default_factory=Facts)

    @property
    def output(self) -> Any:
        return self.outputs[0]

    @property
    def value(self) -> Any:
        """What a plain function returned."""
        return self.output if self.single else self.outputs


def edited(t: Tensor) -> Tensor:
    """The values a tensor has after Probe.meanwhile edited it in place: -0.75 t + 0.375."""
    return -0.75 * t + 0.375


class Observer(Protocol):
    """What a differentiable call can be asked of."""

    def observe(self, probe: Probe) -> Observation:
        """Run a differentiable call as the probe says."""


class Subject(Observer, Protocol):
    """An implementation under test. No method raises for anything student code does.

    is_function   an autograd.Function class
    distant       in another process, so that each question costs a turn
    """

    is_function: bool
    distant: bool

    def observe_each(self, probes: Sequence[Probe]) -> list[Observation]:
        """The same for each probe in turn; the first that fails is the last."""

    def claims(self, rule: Literal["vmap", "jvp"]) -> bool:
        """Whether the class says that it has this rule (so that it may be held to it)."""

    def call(self, args: Args, layout: Layout = "contiguous", before: Args | None = None) -> Observation:
        """Call a plain function once; outputs hold its value or values.

        With `before` it is called twice on the same tensors, which first hold those values; the second is observed.

        It works on copies of the tensors among the arguments and in tuples of them. The facts say whether it changed
        their values (inputs_edited), whether they require grad, or their .grad (leaf_grad_touched).
        """

    def watched(self, seconds: float) -> AbstractContextManager[list[str]]:
        """Limits the processor time of the code within, and undoes on leaving what it replaced in torch's namespaces.

        The list names what that was, once the block is left.
        """


@dataclass(frozen=True)
class Description:
    """What a name stands for: enough to say whether it can be checked.

    kind   "function class" (derived from autograd.Function), "class", "instance" (of a Function), "apply" (a class's
           bound apply), "callable", "value", "missing"
    type   the name of its type
    why    of a missing name: how that came about
    """

    kind: str
    type: str
    why: str = ""


class Elsewhere(ABC):
    """A thing that lives in another process, where a check can be given it as if it were here."""

    description: Description

    @abstractmethod
    def subject(self) -> Subject:
        """The subject to judge it by."""
