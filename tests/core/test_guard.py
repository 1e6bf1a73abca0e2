"""The guard around student code: what it catches, what it puts back, when it ends it."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from grader import guard
from grader.guard import (
    TimeLimit,
    describe,
    guarded,
    memory_limit,
    one_thread,
    original_torch,
    random_kept,
    time_limit,
    torch_unpatched,
)

STATE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "the default dtype": (torch.get_default_dtype, lambda: torch.set_default_dtype(torch.float64)),
    "the gradient mode": (torch.is_grad_enabled, lambda: torch._C._set_grad_enabled(False)),
    "the random seed": (torch.initial_seed, lambda: torch.manual_seed(torch.initial_seed() + 1)),
    "the number of threads": (torch.get_num_threads, lambda: torch.set_num_threads(torch.get_num_threads() + 1)),
    "the deterministic flag": (
        torch.are_deterministic_algorithms_enabled,
        lambda: torch.use_deterministic_algorithms(True),
    ),
    "anomaly detection": (torch.is_anomaly_enabled, lambda: torch.autograd.set_detect_anomaly(True)),
    "the default device": (torch.get_default_device, lambda: torch.set_default_device("meta")),
}


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("name", STATE)
@pytest.mark.parametrize("raises", [False, True], ids=["returns", "raises"])
def test_global_state_is_told_and_put_back(name: str, raises: bool) -> None:
    get, change = STATE[name]
    before = get()
    try:
        with guarded() as seen:
            change()
            assert get() != before
            if raises:
                raise ValueError
    except ValueError:
        assert raises
    assert get() == before
    assert seen.state_changes == (name,)


def test_nothing_changed_is_nothing_told() -> None:
    with guarded() as seen:
        torch.rand(3)
    assert (seen.state_changes, seen.printed, seen.warnings) == ((), "", ())


def test_random_generators_stand_where_they_stood() -> None:
    def numbers() -> tuple[float, float, float]:
        return torch.rand(()).item(), random.random(), float(np.random.rand())

    states = torch.get_rng_state(), random.getstate(), np.random.get_state()
    right = numbers()
    torch.set_rng_state(states[0])
    random.setstate(states[1])
    np.random.set_state(states[2])
    with random_kept(), guarded():
        random.seed(3)
        np.random.seed(3)
        numbers()
    assert numbers() == right


def test_a_forked_child_does_not_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    here = os.getpid()
    with guarded() as seen:
        child = os.fork()
    assert os.getpid() == here, "the child came out of the block"
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert seen.state_changes == ("how many processes there are (os.fork)",)


def test_a_forked_child_that_raises_does_not_go_on_either() -> None:
    here, pids = os.getpid(), []
    with guarded():
        pids.append(os.fork())
        if pids[0] == 0:
            raise ValueError
    assert os.getpid() == here
    assert os.waitstatus_to_exitcode(os.waitpid(pids[0], 0)[1]) == 1


def test_output_is_kept_to_a_limit() -> None:
    with guarded() as seen:
        print("x" * 10_000)
    assert seen.printed == "x" * 2000


# ---- torch as it was -----------------------------------------------------------------------------------------------


def fake(*_: Any, **__: Any) -> bool:
    return True


@pytest.fixture
def torch_functions() -> Iterator[dict[str, Any]]:
    kept = {"isclose": torch.isclose, "gradcheck": torch.autograd.gradcheck, "equal": torch.Tensor.equal}
    yield kept
    for space, name in ((torch, "isclose"), (torch.autograd, "gradcheck")):
        setattr(space, name, kept[name])
    if "equal" in vars(torch.Tensor):  # it is inherited
        del torch.Tensor.equal


def test_replaced_functions_are_named_and_put_back(torch_functions: dict[str, Any]) -> None:
    with torch_unpatched() as changed:
        torch.isclose = fake  # type: ignore[assignment]
        torch.autograd.gradcheck = fake
        torch.Tensor.equal = fake  # type: ignore[method-assign]
        del torch.nn.functional.relu
    assert changed == ["torch.isclose", "torch.autograd.gradcheck", "torch.nn.functional.relu", "Tensor.equal"]
    assert torch.isclose is torch_functions["isclose"]
    assert torch.autograd.gradcheck is torch_functions["gradcheck"]
    assert torch.Tensor.equal is torch_functions["equal"]
    assert callable(torch.nn.functional.relu)


def test_what_torch_itself_loads_late_is_left_alone() -> None:
    with torch_unpatched() as changed:
        x = torch.ones(2, device="meta", requires_grad=True)
        torch.autograd.grad(x.clamp(min=0).sum(), x)
    assert changed == []


def test_a_notebooks_own_patch_does_not_judge(torch_functions: dict[str, Any]) -> None:
    torch.isclose = fake  # type: ignore[assignment]
    torch.Tensor.equal = fake  # type: ignore[method-assign]
    with original_torch():
        assert torch.isclose is torch_functions["isclose"]
        assert torch.Tensor.equal is torch_functions["equal"]
    assert torch.isclose is fake
    assert torch.Tensor.equal is fake


def loop() -> None:
    while True:
        pass


# ---- limits --------------------------------------------------------------------------------------------------------


def test_a_loop_ends_by_processor_time() -> None:
    with pytest.raises(TimeLimit, match=r"no answer after 0\.2 s"), time_limit(0.2):
        loop()


def test_a_wait_ends_by_the_clock() -> None:
    with pytest.raises(TimeLimit), time_limit(0.1):
        time.sleep(100)


def test_code_that_catches_everything_is_rung_again() -> None:
    caught = []

    def stubborn() -> None:
        try:
            loop()
        except BaseException as error:
            caught.append(error)
        loop()

    with pytest.raises(TimeLimit), time_limit(0.1):
        stubborn()
    assert len(caught) == 1


def test_a_limit_that_was_caught_counts_all_the_same() -> None:
    with pytest.raises(TimeLimit), time_limit(0.1), contextlib.suppress(BaseException):
        loop()


def test_handlers_and_timers_are_put_back() -> None:
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        with time_limit(5.0):
            assert signal.getitimer(signal.ITIMER_PROF)[0] > 0
        assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
        signal.raise_signal(signal.SIGALRM)
        assert rung == [1]
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_limit_within_a_limit_leaves_the_outer_one_running() -> None:
    def limited_and_not() -> None:
        with time_limit(5.0):
            pass
        loop()

    with pytest.raises(TimeLimit, match=r"0\.3 s"), time_limit(0.3):
        limited_and_not()


def test_a_limit_that_comes_while_state_is_put_back_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    state, rung = [0], []

    def put_back(value: int) -> None:
        signal.raise_signal(signal.SIGALRM)
        rung.append(1)
        state[0] = value

    def changes_state() -> None:
        with guarded():
            state[0] = 1
        rung.append(2)

    monkeypatch.setitem(guard._STATE, "a setting", (lambda: state[0], put_back))
    out = sys.stdout
    with pytest.raises(TimeLimit, match=r"no answer after 500 s"), time_limit(500.0):
        changes_state()
    assert (state, rung) == ([0], [1, 2])
    assert sys.stdout is out


def test_what_never_ends_while_state_is_put_back_is_ended_all_the_same() -> None:
    class Endless(Warning):
        def __str__(self) -> str:
            loop()
            return ""

    with pytest.raises(TimeLimit), time_limit(0.1), guarded():
        warnings.warn(Endless(), stacklevel=1)


def test_no_limit_off_the_main_thread() -> None:
    import threading

    done = []

    def work() -> None:
        with time_limit(0.01):
            time.sleep(0.1)
        done.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux says how large a process is")
def test_memory_is_limited_in_the_block_and_free_after_it() -> None:
    """In a process of its own: what was freed before may stay with the allocator."""
    program = """
import torch
from grader.guard import memory_limit
kept = []
try:
    with memory_limit(2**28):
        while True:
            kept.append(torch.ones(2**21, dtype=torch.float64))
except (MemoryError, RuntimeError) as error:
    print(len(kept) <= 16, type(error).__name__)
print(torch.zeros(2**26, dtype=torch.float64).numel())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "RuntimeError", str(2**26)]


def test_a_stricter_limit_of_the_machine_stays() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with memory_limit(2**60):
        assert resource.getrlimit(resource.RLIMIT_AS)[1] == before[1]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_one_thread_puts_the_number_back() -> None:
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


# ---- lines ---------------------------------------------------------------------------------------------------------


def test_the_line_named_is_the_students_not_torchs() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.ones(2) @ torch.ones(3)
    failure = describe(caught.value, "forward")
    assert failure.line.endswith("torch.ones(2) @ torch.ones(3)")
    assert failure.line.startswith("line ")


def test_a_line_without_source_still_has_its_number() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("\n\n1 / 0", "<no file>", "exec"), {})
    assert describe(caught.value, "call").line == "line 3"
