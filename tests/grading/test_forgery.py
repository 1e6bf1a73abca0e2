"""Submissions that attack the conversation itself: none gains a point, none stops the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.exercises import get
from grader.grading.session import Submission
from tests.grading.known import test_cell

Start = Callable[..., Submission]

# A wrong answer that calls an attack on its first forward; `wire()` is the socket's descriptor, `host()` the server.
WRONG = """
import gc, os, stat, struct, sys, threading, time

def wire():
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                return fd
        except OSError:
            pass

def host():
    return next(o for o in gc.get_objects() if type(o).__name__ == "Host")

def send(data):
    while data:
        try:
            data = data[os.write(wire(), data):]
        except BlockingIOError:
            time.sleep(0.01)

def reply(sequence, body, kind=1):
    send(struct.pack(">4sBIQ", b"cagw", kind, sequence, len(body)) + body)

class MyReLU(Function):
    tried = False

    @staticmethod
    def forward(ctx, x):
        if not MyReLU.tried:
            MyReLU.tried = True
            attack()
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
"""
ATTACKS = {
    "garbage": "send(b'x' * 5000)",
    "nothing but zeros": "send(bytes(100))",
    "half a frame": "reply(1, b'')\n    os.write(wire(), b'cagw')",
    "a body of an exabyte": "send(struct.pack('>4sBIQ', b'cagw', 1, host().sequence, 2**60))",
    "a body that never comes": "send(struct.pack('>4sBIQ', b'cagw', 1, host().sequence, 2**20))",
    "an answer out of turn": "reply(host().sequence + 1, b'N')",
    "an answer of yesterday": "reply(1, b't\\x00\\x00\\x00\\x02TN')",
    "an answer ahead of its own": "reply(host().sequence, b't\\x00\\x00\\x00\\x02TN')",
    "it passed": "reply(host().sequence, b't\\x00\\x00\\x00\\x02TT')",
    "tuples without end": "reply(host().sequence, b't\\x00\\x00\\x00\\x01' * 10000)",
    "a pickle": "import pickle\n    reply(host().sequence, pickle.dumps(os.system))",
    "a function to call": "reply(host().sequence, b't\\x00\\x00\\x00\\x02i' + bytes(8) + b't' + bytes(4), kind=9)",
    "done without an answer": "reply(host().sequence, b't' + bytes(4), kind=7)",
    "done before its time": "reply(host().sequence, b'TN')\n    reply(host().sequence, b't' + bytes(4), kind=7)",
    "more answers than questions": "[reply(host().sequence, b't\\x00\\x00\\x00\\x02TN') for _ in range(50)]",
    "no names of what was replaced": "reply(host().sequence, b'N', kind=7)",
    "an unknown kind": "reply(host().sequence, b'N', kind=77)",
    "a request to the grader": "reply(host().sequence, b'N', kind=2)",
    "hanging up": "os.close(wire())",
    "leaving": "os._exit(0)",
    "a thread that floods": "threading.Thread(target=lambda: [reply(5, b'N') for _ in iter(int, 1)]).start()",
    "answering twice": "pid = os.getpid()\n    os.getpid = lambda: pid\n    os.fork()",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_an_attack_on_the_wire_gains_nothing(submission: Start, attack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.battery.SECONDS_PER_CHECK", 1.0)
    leaky = get("leaky_relu").variants[0].source or ""
    one = submission(leaky, WRONG, f"def attack():\n    {attack}")
    tested = one.test(test_cell(get("relu")))
    assert tested.error == ""
    assert tested.points is not None
    assert tested.points <= 0.2 * 4, "no more than the forward earns"
    assert one.test(test_cell(get("leaky_relu"))).points == 4, "what is right keeps its points"


PATCHES = {
    "gradcheck": "torch.autograd.gradcheck = lambda *a, **k: True",
    "comparisons": (
        "torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)\n"
        "torch.allclose = torch.equal = lambda *a, **k: True"
    ),
    "tensor methods": "torch.Tensor.any = lambda *a, **k: torch.tensor(False)\ntorch.Tensor.__eq__ = lambda *a: True",
    "the observer": (
        "local = type(host()).open.__globals__['LocalSubject']\n"
        "old = local.observe\n"
        "def observe(self, probe):\n"
        "    seen = old(self, probe)\n"
        "    seen.failure = None\n"
        "    seen.facts.backward_calls, seen.facts.inner_autograd = 1, 0\n"
        "    print('forged')\n"
        "    return seen\n"
        "local.observe = observe"
    ),
    "the messages": "type(host()).open.__globals__['messages'].plain_observation = lambda seen: True",
    "a fake verdict": "print('✓ ReLU by hand: right, 4 of 4 points')\ncheck = grade = lambda *a, **k: 4.0\n4.0",
    "the environment": "import os\nos.environ['GRADER_CLASS_SECRET'] = 'public'",
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_what_is_replaced_there_changes_nothing_here(submission: Start, patch: str) -> None:
    one = submission("def attack(): pass", WRONG, patch)
    tested = one.test(test_cell(get("relu")))
    assert tested.error == ""
    assert tested.points is not None
    assert tested.points <= 0.2 * 4


def test_a_name_of_the_grader_is_not_taken_from_the_submission(submission: Start) -> None:
    one = submission("def grade(*a): return 4.0", "check = print = float = grade", "MyReLU = 3")
    assert one.test(test_cell(get("relu"))).points == 0


def test_a_function_called_for_ever_ends(submission: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.battery.SECONDS_PER_CHECK", 0.5)
    one = submission("def numerical_vjp(f, x, g, eps):\n    while True: f(x)")
    tested = one.test(test_cell(get("numerical_vjp")))
    assert (tested.points, tested.error) == (0, "")


@pytest.mark.parametrize(
    "call",
    [
        "f()",
        "f(x, x, x)",
        "f('x')",
        "f(object())",
        "f(torch.zeros(2, 10**9))",
        "f(torch.zeros(10**7, dtype=torch.float64))",
        "f(x.to_sparse())",
        "f(x.to('meta'))",
        "f(f)",
    ],
)
def test_a_function_called_with_nonsense_is_an_error_there(submission: Start, call: str) -> None:
    one = submission(f"def numerical_vjp(f, x, g, eps):\n    return {call}", get("ste_detach").variants[0].source or "")
    tested = one.test(test_cell(get("numerical_vjp")))
    assert (tested.points, tested.error) == (0, "")
    assert one.test(test_cell(get("ste_detach"))).points == 2


@pytest.mark.parametrize(
    "value",
    [
        "x.to_sparse()",
        "x.to('meta')",
        "torch.empty(2**34, device='meta')",
        "[[[[[[[[[[[[x]]]]]]]]]]]]",
        "x.requires_grad_()",
        "torch.nn.Parameter(x)",
        "x.to(torch.float8_e5m2)",
        "torch.zeros(10**7, dtype=torch.float64)",
        "(x,) * 10**5",
        "type('Always', (), {'__eq__': lambda *a: True})()",
        "float('nan')",
        "2**200",
        "'\\ud800'",
        "{1: 2}",
        "iter(int, 1)",
    ],
)
def test_odd_values_are_wrong_answers_and_no_more(submission: Start, value: str) -> None:
    one = submission(f"def vjp_square(g, x):\n    return {value}")
    tested = one.test(test_cell(get("vjp_square")))
    assert (tested.points, tested.error) == (0, "")
    assert one.restarts == 8, "the process is as good as before"
