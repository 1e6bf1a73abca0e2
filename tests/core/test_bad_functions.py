"""Implementations that are no answer at all: each gets a clear verdict, and leaves nothing behind.

For every one of them `check` raises nothing and writes nothing, torch's global state is as before, and the next check
of a right implementation is not affected.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import Function

from grader import battery, check
from grader.report import Report

Forward = Callable[[Any, Tensor], Any]


def right_forward(ctx: Any, x: Tensor) -> Tensor:
    ctx.save_for_backward(x)
    return x.clamp(min=0)


def right_backward(ctx: Any, g: Tensor) -> Any:
    (x,) = ctx.saved_tensors
    return g * (x > 0)


def relu(
    forward: Forward = right_forward, backward: Callable[..., Any] = right_backward, **more: Any
) -> type[Function]:
    """A Function like MyReLU with its own forward or backward."""
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward), **more}
    return type("MyReLU", (Function,), members)


def before_forward(do: Callable[[], Any]) -> type[Function]:
    """A right ReLU whose forward also does something."""

    def forward(ctx: Any, x: Tensor) -> Tensor:
        do()
        return right_forward(ctx, x)

    return relu(forward)


def before_backward(do: Callable[[], Any]) -> type[Function]:
    def backward(ctx: Any, g: Tensor) -> Any:
        do()
        return right_backward(ctx, g)

    return relu(backward=backward)


def loop() -> None:
    while True:
        pass


def loop_that_catches_everything() -> None:
    for _ in range(2):
        with contextlib.suppress(BaseException):
            loop()


def raise_it(error: BaseException) -> None:
    raise error


def fake(*_: Any, **__: Any) -> Any:
    return True


def after_patching(space: Any, name: str, backward: Callable[..., Any] = right_backward) -> type[Function]:
    """A ReLU whose backward first replaces one of torch's functions."""

    def patching(ctx: Any, g: Tensor) -> Any:
        setattr(space, name, fake)
        return backward(ctx, g)

    return relu(backward=patching)


class InstanceMethods(Function):
    def forward(self, ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return right_forward(ctx, x)

    def backward(self, ctx: Any, g: Tensor) -> Any:  # type: ignore[override]
        return right_backward(ctx, g)


class OnlyForward(Function):
    forward = staticmethod(right_forward)


class NoFunction:
    forward = staticmethod(right_forward)
    backward = staticmethod(right_backward)


class Module(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.clamp(min=0)


class CallsItself(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return CallsItself.apply(x)  # type: ignore[no-untyped-call]

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g


class Touchy(type(Function)):  # type: ignore[misc]
    """Cannot be subclassed a second time, so that not even watching it is possible."""

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        if bases != (Function,):
            raise ValueError("no")
        super().__init__(name, bases, members)


class Weird(Tensor):
    """A tensor that fails at whatever is done with it."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.__name__ in {"isclose", "__eq__", "eq", "detach"}:
            raise KeyError("weird")
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]


NOT_THE_KIND: dict[str, tuple[Any, str]] = {
    "None": (None, "it is None"),
    "a number": (3, "it is an int"),
    "an nn.Module": (Module, "not derived from torch.autograd.Function"),
    "an instance of an nn.Module": (Module(), "it is a Module"),
    "a class that is no Function": (NoFunction, "Write `class MyReLU(Function):`"),
    "a plain function": (torch.relu, "must be a class derived from torch.autograd.Function"),
    "apply": (relu().apply, "Pass the class itself: check('relu', MyReLU)"),
}

# name: (implementation, the check that fails, a phrase of its message)
WRONG: dict[str, tuple[Any, str, str]] = {
    "loop in forward": (before_forward(loop), "runs", "forward did not come to an end for an ordinary input"),
    "loop in backward": (before_backward(loop), "runs", "backward did not come to an end"),
    "loop that catches everything": (before_backward(loop_that_catches_everything), "runs", "did not come to an end"),
    "sleep in backward": (before_backward(lambda: time.sleep(1000)), "runs", "no answer after 0.4 s"),
    "loop for 0-d tensors only": (
        relu(lambda ctx, x: loop() if x.dim() == 0 else right_forward(ctx, x)),
        "runs",
        "forward did not come to an end for a 0-d tensor",
    ),
    "loop during gradcheck only": (
        relu(backward=lambda ctx, g: loop() if int((g != 0).sum()) == 1 else right_backward(ctx, g)),
        "runs",
        "backward did not come to an end for the inputs of gradcheck",
    ),
    "NaN": (relu(backward=lambda ctx, g: g * float("nan")), "vjp", "nan instead of"),
    "infinity": (relu(backward=lambda ctx, g: right_backward(ctx, g) + float("inf")), "vjp", "inf instead of"),
    "NaN from forward": (relu(lambda ctx, x: right_forward(ctx, x) * float("nan")), "forward", "nan instead of"),
    "output in another dtype": (relu(lambda ctx, x: right_forward(ctx, x).float()), "forward", "dtype is float32"),
    "output of integers": (relu(lambda ctx, x: right_forward(ctx, x).long()), "forward", "dtype is int64"),
    "output in another shape": (relu(lambda ctx, x: right_forward(ctx, x).sum()), "forward", "its shape is ()"),
    "gradient in another dtype": (relu(backward=lambda ctx, g: right_backward(ctx, g).float()), "vjp", "instead of"),
    "gradient in another shape": (
        relu(backward=lambda ctx, g: right_backward(ctx, g).sum()),
        "differentiable",
        "a gradient must have the shape of the input it belongs to",
    ),
    "a view of the input": (relu(lambda ctx, x: right_forward(ctx, x) * 0 + x.view_as(x)), "forward", "instead of 0"),
    "the input itself": (relu(lambda ctx, x: x), "forward", "the output is wrong"),
    "a Python number": (
        relu(lambda ctx, x: 3.0),
        "forward",
        "For an ordinary input forward returned a float, not a tensor",
    ),
    "nothing from forward": (relu(lambda ctx, x: None), "forward", "forward returned a NoneType, not a tensor"),
    "a list from forward": (relu(lambda ctx, x: [right_forward(ctx, x)]), "forward", "forward returned a list"),
    "two outputs": (relu(lambda ctx, x: (right_forward(ctx, x), x.clone())), "forward", "forward gave 2 outputs"),
    "no outputs": (relu(lambda ctx, x: ()), "forward", "forward gave 0 outputs"),
    "a number from backward": (
        relu(backward=lambda ctx, g: 1.0),
        "differentiable",
        "something in the returned tuple is neither a tensor nor None",
    ),
    "a tuple in a tuple": (
        relu(backward=lambda ctx, g: ((right_backward(ctx, g),),)),
        "differentiable",
        "something in the returned tuple is neither a tensor nor None",
    ),
    "None from backward": (relu(backward=lambda ctx, g: None), "vjp", "it is None (nothing was passed on)"),
    "too few gradients": (relu(backward=lambda ctx, g: ()), "differentiable", "one value per argument of forward"),
    "too many gradients": (
        relu(backward=lambda ctx, g: (right_backward(ctx, g), g)),
        "differentiable",
        "one value per argument of forward",
    ),
    "an exception in forward": (
        before_forward(lambda: raise_it(ValueError("oops"))),
        "forward",
        "forward raised an error for an ordinary input: ValueError: oops",
    ),
    "an exception in backward": (
        before_backward(lambda: raise_it(ValueError("oops"))),
        "differentiable",
        "backward raised an error for an ordinary input: ValueError: oops",
    ),
    "sys.exit": (before_forward(lambda: sys.exit(0)), "forward", "SystemExit: 0"),
    "an exception of no usual kind": (before_forward(lambda: raise_it(GeneratorExit())), "runs", "GeneratorExit"),
    "a warning as exception": (before_forward(lambda: raise_it(UserWarning("careful"))), "forward", "UserWarning"),
    "default dtype": (
        before_backward(lambda: torch.set_default_dtype(torch.float64)),
        "no_side_effects",
        "The call changed the default dtype",
    ),
    "default device": (
        before_forward(lambda: torch.set_default_device("meta")),
        "no_side_effects",
        "the default device",
    ),
    "gradient mode": (before_backward(lambda: torch.set_grad_enabled(False)), "second_order", "silently wrong"),
    "seed": (before_backward(lambda: torch.manual_seed(0)), "no_side_effects", "the random seed"),
    "threads": (before_backward(lambda: torch.set_num_threads(3)), "no_side_effects", "the number of threads"),
    "deterministic flag": (
        before_backward(lambda: torch.use_deterministic_algorithms(True)),
        "no_side_effects",
        "the deterministic flag",
    ),
    "anomaly detection": (
        before_backward(lambda: torch.autograd.set_detect_anomaly(True, check_nan=False)),
        "no_side_effects",
        "anomaly detection",
    ),
    "fork": (before_forward(lambda: os.fork()), "runs", "Your code made a copy of its own process"),
    "patched function": (
        after_patching(torch, "isclose", lambda ctx, g: g),
        "torch_untouched",
        "The code replaced torch.isclose",
    ),
    "patched method": (
        after_patching(Tensor, "equal", lambda ctx, g: g),
        "torch_untouched",
        "The code replaced Tensor.equal",
    ),
    "patched gradcheck": (
        after_patching(torch.autograd, "gradcheck"),
        "torch_untouched",
        "The code replaced torch.autograd.gradcheck",
    ),
    "apply replaced": (relu(apply=staticmethod(torch.relu)), "differentiable", "the engine never called it"),
    "instance methods": (InstanceMethods, "forward", "forward takes ctx first, then the inputs, and no self"),
    "no backward": (OnlyForward, "differentiable", "the class has no method named `backward`"),
    "no forward": (type("MyReLU", (Function,), {}), "forward", "the class has no method named `forward`"),
    "calls itself": (CallsItself, "forward", "the Function calls its own apply"),
    "cannot be watched": (
        Touchy(
            "MyReLU",
            (Function,),
            {"forward": staticmethod(right_forward), "backward": staticmethod(right_backward)},
        ),
        "runs",
        "MyReLU could not be judged: ValueError",
    ),
    "a tensor that raises": (relu(lambda ctx, x: right_forward(ctx, x).as_subclass(Weird)), "forward", "KeyError"),
}

STILL_RIGHT: dict[str, tuple[Any, str]] = {
    "prints": (before_backward(lambda: print("hello")), "Your code prints"),
    "prints to stderr": (before_backward(lambda: print("hello", file=sys.stderr)), "Your code prints"),
    "warns": (before_backward(lambda: warnings.warn("careful", stacklevel=1)), "A warning was raised: careful"),
}


def findings(report: Report) -> str:
    return "\n".join(f"{f.check}: {f.message}" for f in report.failed)


@pytest.fixture(autouse=True)
def nothing_left_behind(untouched: None, right_relu: type[Function], capfd: pytest.CaptureFixture[str]) -> Any:
    yield
    assert check("relu", right_relu).passed, "the next check is affected"
    assert capfd.readouterr() == ("", ""), "something was written"


@pytest.mark.parametrize("name", NOT_THE_KIND)
def test_what_is_not_of_the_kind_asked_for(name: str) -> None:
    thing, phrase = NOT_THE_KIND[name]
    report = check("relu", thing)
    assert (report.passed, report.points, [f.check for f in report.findings]) == (False, 0.0, ["kind"])
    assert phrase in report.findings[0].message


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_instance_instead_of_the_class(right_relu: type[Function]) -> None:
    report = check("relu", right_relu())
    assert "You passed an instance of MyReLU" in report.findings[0].message


@pytest.mark.parametrize(
    ("thing", "phrase"),
    [(relu(), "must be a function"), (None, "it is None"), ("2xg", "it is a str"), (Module, "must be a function")],
    ids=["a class", "None", "text", "a module"],
)
def test_what_is_no_plain_function(thing: Any, phrase: str) -> None:
    report = check("vjp_square", thing)
    assert [f.check for f in report.findings] == ["kind"]
    assert phrase in report.findings[0].message


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    thing, failing, phrase = WRONG[name]
    with monkeypatch.context() as patch:
        if failing == "runs":  # else the limit stays far away, on a busy machine too
            patch.setattr(battery, "SECONDS_PER_CHECK", 0.4)
        report = check("relu", thing)
    assert not report.passed
    assert report.points < report.out_of
    assert failing in {f.check for f in report.failed}, findings(report)
    assert phrase in next(f.message for f in report.failed if f.check == failing)
    assert report.started
    assert report.text()
    assert report.html()


@pytest.mark.parametrize("name", STILL_RIGHT)
def test_a_right_function_that_is_loud(name: str) -> None:
    thing, remark = STILL_RIGHT[name]
    report = check("relu", thing)
    assert report.passed, findings(report)
    assert remark in " ".join(report.remarks)


@pytest.mark.parametrize(
    ("function", "phrase"),
    [
        (lambda g, x: 1 / 0, "your function raised an error"),
        (lambda g: g, "your function raised an error"),
        (lambda g, x: None, "it is None"),
        (lambda g, x: (2 * x * g,), "it is a tuple, not a tensor"),
        (lambda g, x: 3.0, "it is a float, not a tensor"),
        (lambda g, x: (2 * x * g).numpy(), "it is a ndarray, not a tensor"),
        (lambda g, x: (2 * x * g).float(), "its dtype is float32"),
        (lambda g, x: (2 * x * g).sum(), "its shape is ()"),
        (lambda g, x: g.mul_(2 * x), "Your function changed the tensor it was given"),
    ],
    ids=["raises", "takes too few", "None", "tuple", "number", "array", "dtype", "shape", "in place"],
)
def test_a_wrong_plain_function(function: Any, phrase: str) -> None:
    report = check("vjp_square", function)
    assert not report.passed
    assert phrase in findings(report)


def test_a_plain_function_that_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(battery, "SECONDS_PER_CHECK", 0.4)
        report = check("vjp_square", lambda g, x: loop())
    assert [f.check for f in report.findings] == ["runs"]
    assert "your function did not come to an end" in findings(report)


def test_an_unwritten_exercise_is_not_wrong() -> None:
    def forward(ctx: Any, x: Tensor) -> Tensor:
        raise NotImplementedError

    report = check("relu", relu(forward))
    assert (report.started, report.points) == (False, 0.0)


def test_a_notebook_that_replaced_torchs_functions_does_not_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "isclose", lambda a, b, **_: torch.ones_like(a, dtype=torch.bool))
    monkeypatch.setattr(torch.autograd, "gradcheck", fake)
    report = check("relu", relu(backward=lambda ctx, g: g))
    assert {"vjp", "gradcheck"} <= {f.check for f in report.failed}
    monkeypatch.undo()


@pytest.mark.parametrize("id", ["rellu", "", "02_relu", 3, None, ("relu",), ["relu"]], ids=repr)
def test_an_unknown_exercise_is_said(id: Any, right_relu: type[Function]) -> None:
    report = check(id, right_relu)
    assert [f.check for f in report.findings] == ["exercise"]
    assert "there is no exercise" in report.findings[0].message


ALLOCATES = """
import torch
from torch.autograd import Function
from grader import check, local

local.EXTRA_MEMORY = 2**29

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        kept = []
        while True:
            kept.append({grow})

    @staticmethod
    def backward(ctx, g):
        return g

report = check("relu", MyReLU)
print(report.failed[0].check, report.failed[0].message)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux says how large a process is")
@pytest.mark.parametrize(
    ("grow", "phrase"),
    [("torch.ones(2**21)", "can't allocate memory"), ("bytearray(2**22)", "MemoryError")],
    ids=["tensors", "bytes"],
)
def test_allocating_without_end(grow: str, phrase: str) -> None:
    """In a process of its own, where the memory is free again afterwards."""
    program = ALLOCATES.replace("{grow}", grow)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert done.stdout.startswith("forward forward raised an error")
    assert phrase in done.stdout
