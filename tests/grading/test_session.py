"""A submission from its cells to its points: what it shows, how it fails, and what is kept when it dies."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from typing import Any

import pytest

from grader.checking import with_where
from grader.exercises import get
from grader.grading.outputs import displayed
from grader.grading.session import LATE, Submission
from grader.subject import ENDLESS, GONE
from grader.where import Plot
from tests.grading.known import test_cell

Start = Callable[..., Submission]

RELU = get("relu").variants[0].source or ""
LEAKY = get("leaky_relu").variants[0].source or ""
WRONG_RELU = get("relu").written_misconceptions[0].source or ""
HANGS = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        while True: pass
"""


def test_right_and_wrong_answers_get_their_points(submission: Start) -> None:
    one = submission(RELU, LEAKY)
    for id in ("relu", "leaky_relu"):
        tested = one.test(test_cell(get(id)))
        assert (tested.points, tested.error) == (get(id).points, "")
        assert tested.reports[0].passed
        assert "right" in tested.output
    wrong = submission(WRONG_RELU).test(test_cell(get("relu")))
    assert wrong.reports[0].diagnosis[:1] == (get("relu").written_misconceptions[0].id,)


def test_the_secret_is_not_in_the_process(submission: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADER_CLASS_SECRET", "s3cret-of-the-class")
    cell = submission().run(
        "import os, sys\n"
        "print('SECRET', os.environ.get('GRADER_CLASS_SECRET'))\n"
        "print(sorted(m for m in sys.modules if m.startswith('grader')))\n"
        "from grader.exercises import get"
    )
    assert "SECRET None" in cell.output
    stand_ins = ["explorers", "plots", "track"]
    expected = ["grader", "grader.hidden", "grader.learning", *(f"grader.learning.{name}" for name in stand_ins)]
    assert str(expected) in cell.output
    assert cell.failure is not None
    assert cell.failure.type == "ModuleNotFoundError"


def test_figures_of_the_lessons_are_not_drawn_and_code_that_draws_goes_on(submission: Start) -> None:
    one = submission("from grader.learning.plots import COLORS, TEXT, chain, figure, heat")
    ran = one.run(
        "fig, ax = figure(width=7)\n"
        "bars = ax.barh(['a'], [1], color=COLORS[0])\n"
        "for label in ax.get_yticklabels(): label.set_color(TEXT)\n"
        "fig, (left, right) = figure(columns=2)\n"
        "left.spines[:].set_visible(False); heat(right, [[1.0]])\n"
        "fig, axes = figure(2, 3)\n"
        "for ax in axes.flat: ax.plot([1])\n"
        "print(axes.shape)\n"
        "import matplotlib.pyplot as plt\n"
        "own, ax = plt.subplots(); ax.plot([1, 2]); plt.show()\n"
        "fig"
    )
    assert ran.failure is None, ran.failure
    assert ran.output == "(3, 2)\n(figures are not drawn while grading)\n"


def test_what_a_cell_shows_and_how_it_fails(submission: Start) -> None:
    one = submission()
    assert one.run("print('hello')\n1 + 1").output == "hello\n2\n"
    assert one.run("1 + 1;").output == ""
    failed = one.run("x = 1\nx / 0")
    assert failed.failure is not None
    assert (failed.failure.type, failed.failure.line) == ("ZeroDivisionError", "line 2: x / 0")
    assert one.run("x").output == "1\n"
    syntax = one.run("def f(:\n  pass").failure
    assert syntax is not None
    assert (syntax.type, syntax.line) == ("SyntaxError", "line 1: def f(:")
    assert "keyboard" in str(one.run("input()").failure)
    for flood in ("'x' * 1_000_000", "'é' * 95_000", "'\U0001f600' * 30_000", "'\\ud800' * 95_000"):
        shown = one.run(f"print({flood})")
        assert shown.failure is None
        assert 1_000 < len(shown.output) < 200_000
    assert one.run("for i in range(20_000): print('x' * 100)").output.endswith("[more output was dropped]\n")
    for leaves in ("import sys; sys.exit()", "quit()", "raise SystemExit(3)", "raise KeyboardInterrupt"):
        assert one.run(leaves).failure is not None
    assert one.run("x").output == "1\n", "the same process as before"


def test_magics_are_left_out_and_said(submission: Start) -> None:
    one = submission()
    shown = one.run("%matplotlib inline\n!pip install x\nMyReLU?\ny = 3\ny")
    assert shown.failure is None
    assert shown.output.splitlines()[-1] == "3"
    assert "!pip install x works in Jupyter only" in shown.output
    assert one.run("%%time\nz = 4\nz").output.endswith("4\n")
    assert one.run("z").output == "4\n"
    assert one.run("%%bash\necho no").failure is None
    assert one.run("check('relu', None)\ncheck('relu', None).passed").output.endswith("True\n")


def test_names_of_every_kind_get_a_verdict(submission: Start) -> None:
    one = submission("def MyReLU(x): return x", "class Swish: pass", "LeakyReLU = 3", "Clamp = None")
    ids = ("relu", "swish", "leaky_relu", "clamp")
    findings = {id: one.test(test_cell(get(id))).reports[0].findings[0].message for id in ids}
    assert "it is a function" in findings["relu"]
    assert "not derived from torch.autograd.Function" in findings["swish"]
    assert "it is an int" in findings["leaky_relu"]
    assert "it is None" in findings["clamp"]


def test_a_missing_name_says_why(submission: Start) -> None:
    one = submission("1 / 0\nclass MyReLU(Function): pass", "class Clamp(Function:\n  pass")
    broken, never, syntax = (one.test(test_cell(get(id))).reports[0] for id in ("relu", "swish", "clamp"))
    assert "MyReLU is not defined (its cell raised ZeroDivisionError" in broken.findings[0].message
    assert broken.points == 0
    assert never.findings[0].message == "Swish is not defined."
    assert "SyntaxError" in syntax.findings[0].message


def test_ordinary_asserts_work_on_the_names(submission: Start) -> None:
    one = submission(RELU, "def twice(x): return 2 * x", "answer = 'B'", "def boom(): raise ValueError('no')")
    good = one.test(
        "import torch\n"
        "x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)\n"
        "y = MyReLU.apply(x)\n"
        "y.sum().backward()\n"
        "assert x.grad.tolist() == [0.0, 1.0]\n"
        "assert torch.autograd.gradcheck(MyReLU.apply, (x,))\n"
        "assert twice(21) == 42 and answer == 'B'\n"
        "def inner(): return twice(1)\n"
        "inner() + 1.5"
    )
    assert (good.error, good.points) == ("", 3.5)
    assert "ValueError: no" in one.test("boom()").error
    assert "NameError" in one.test("nowhere(1)").error
    assert one.test("assert twice(2) == 5, 'twice'").error == "AssertionError: twice"


def test_an_object_that_equals_everything_equals_nothing_here(submission: Start) -> None:
    one = submission("class Yes:\n  __eq__ = lambda *a: True\nanswer = Yes()", "def f(): return Yes()")
    assert one.test("assert answer == 'B'").error.startswith("AssertionError")
    assert one.test("assert f() == 'B'").error.startswith("AssertionError")


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ("import os; os._exit(0)", GONE),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", GONE),
        ("import ctypes; ctypes.string_at(0)", GONE),
        ("while True: pass", "endless loop"),
        ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", ENDLESS),
        ("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))\nwhile True: pass", ENDLESS),
    ],
    ids=["exit", "signal", "segfault", "loop", "loop that catches all", "loop deaf to signals"],
)
def test_a_cell_that_dies_or_hangs_costs_itself_alone(submission: Start, bad: str, kind: str) -> None:
    one = submission(RELU, bad, LEAKY, cell_seconds=1.0)
    assert [c.failure and c.failure.type for c in one.cells] == [None, None, kind, None]
    assert [one.test(test_cell(get(id))).points for id in ("relu", "leaky_relu")] == [4, 4]


@pytest.mark.parametrize(
    "bad", ["import os; os._exit(3)", "import ctypes; ctypes.string_at(0)"], ids=["exit", "segfault"]
)
def test_an_answer_that_dies_costs_its_own_points_alone(submission: Start, bad: str) -> None:
    dies = f"class MyReLU(Function):\n    @staticmethod\n    def forward(ctx, x):\n        {bad}\n"
    one = submission(dies, LEAKY)
    report = one.test(test_cell(get("relu"))).reports[0]
    assert (report.points, report.findings[0].check) == (0, "runs")
    assert "ended the whole Python process" in report.findings[0].message
    assert one.test(test_cell(get("leaky_relu"))).points == 4


def test_points_earned_before_an_answer_dies_are_kept(submission: Start) -> None:
    dies = RELU.replace(
        "def forward(ctx, x):", "def forward(ctx, x):\n        import os\n        x.dim() or os._exit(1)"
    )
    assert dies != RELU
    report = submission(dies).test(test_cell(get("relu"))).reports[0]
    assert 0 < report.points < 4


def test_an_answer_that_hangs_says_where(submission: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.battery.SECONDS_PER_CHECK", 0.5)
    one = submission(HANGS, LEAKY)
    report = one.test(test_cell(get("relu"))).reports[0]
    assert report.points == 0
    assert "did not come to an end" in report.findings[0].message
    assert one.test(test_cell(get("leaky_relu"))).points == 4


def test_memory_is_limited(submission: Start) -> None:
    one = submission("def fill():\n  x = [bytearray(2**28) for _ in range(64)]\n  return len(x)", RELU)
    assert one.run("fill()").failure is not None
    assert one.test(test_cell(get("relu"))).points == 4


def test_the_whole_submission_has_a_limit(submission: Start) -> None:
    one = submission(RELU, seconds=2.0)
    one.run("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))\nwhile True: pass")
    late = one.test(test_cell(get("relu")))
    assert (late.points, late.reports, late.broken) == (None, (), False)
    assert late.error == "not run: the submission took more than 2 s, so the rest of it was not run"
    failure = one.run("1").failure
    assert failure is not None
    assert failure.type == LATE


def test_files_come_along_into_every_process(submission: Start) -> None:
    files = {"helper.py": b"times = 2\n", "data/x.bin": bytes(range(256)) * 10_000, "empty": b""}
    one = submission(files=files, cell_seconds=1.0)
    read = "import helper\nprint(helper.times, len(open('data/x.bin', 'rb').read()), open('empty').read() == '')"
    assert one.run(read).output == "2 2560000 True\n"
    one.run("open('helper.py', 'w').write('times = 3')")
    one.run("import os; os._exit(0)")
    assert one.run("open('helper.py').read()").output == "'times = 3'\n", "the cells before were run again"


def test_what_jupyter_adds_to_python(submission: Start) -> None:
    one = submission()
    assert one.run("%%writefile a.py\ntimes = 4\n").failure is None
    assert one.run("import a\na.times").output == "4\n"
    assert one.run("import asyncio\nawait asyncio.sleep(0, result=5)").output == "5\n"
    assert one.run("get_ipython().events.register('pre_run_cell', print)").failure is None


def test_whose_fault_an_error_is(submission: Start) -> None:
    one = submission("def boom(): raise ValueError('no')")
    for theirs in ("boom()", "nowhere()", "assert False", "1 / 0"):
        assert not one.test(theirs).broken, theirs
    for ours in ("import no_such_module", "def (", "from grader.exercises import get\nget('no such exercise')"):
        assert one.test(ours).broken, ours


def test_what_a_test_cell_displays_is_kept(submission: Start) -> None:
    tested = submission("x = 3").test("display({'a/b': {'x': x}}, raw=True)\ndisplay('text')\nx")
    assert (tested.shown, tested.output, tested.points) == (({"a/b": {"x": 3}},), "text\n", 3.0)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_nothing_is_left_running(submission: Start) -> None:
    """Children, children of children, and one that left the session and the process group."""
    cell = submission().run(
        "import os, subprocess, sys, time\n"
        "sleep = [sys.executable, '-c', 'import time; time.sleep(600)']\n"
        "one = subprocess.Popen(sleep)\n"
        "two = subprocess.Popen(sleep, start_new_session=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "time.sleep(0.2)\n"
        "print(os.getpid(), one.pid, two.pid)\n"
    )
    pids = [int(pid) for pid in cell.output.split()]
    if not pids:
        pytest.skip("the kernel lets submissions start no processes here")
    assert all(map(alive, pids))
    again = submission()
    again.run("print(1)")
    until = time.monotonic() + 10
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_two_submissions_share_nothing(submission: Start) -> None:
    submission("import torch\ntorch.leak = 'mine'\nimport builtins\nbuiltins.leak = 'mine'").close()
    cell = submission().run("import torch\nprint(hasattr(torch, 'leak'), 'leak' in dir(__builtins__))")
    assert cell.output == "False False\n"


def test_random_numbers_repeat(submission: Start) -> None:
    draw = "import random\nprint(torch.randn(2).tolist(), np.random.rand(), random.random())"
    assert submission().run(draw).output == submission().run(draw).output


# ---- the picture -----------------------------------------------------------------------------------------------------

IN_THE_PICTURE = """
import os, signal

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        if x.numel() == 161:
            {act}
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
"""
ACTS = {
    "exit": "os._exit(0)",
    "raise": "raise ValueError",
    "loop": "exec('while True: pass')",
    "deaf": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60)); exec('while True: pass')",
}


def test_a_wrong_answer_is_kept_with_what_its_picture_is_drawn_from(submission: Start) -> None:
    one = submission(IN_THE_PICTURE.format(act="pass"), LEAKY, secret="a secret")
    (report,) = one.test(test_cell(get("relu"))).reports
    assert report.where is not None
    forward, gradient = report.where.panels
    assert isinstance(forward, Plot)
    assert isinstance(gradient, Plot)
    assert forward.shaded == ()
    for x, mine, right in zip(gradient.x, *(line.y for line in reversed(gradient.lines)), strict=True):
        assert (mine, right) == (1.0, pytest.approx(float(x > 0), abs=1e-4))
        assert any(low <= x <= high for low, high in gradient.shaded) == (x < 0)
    assert len(json.dumps(displayed(report))) < 20_000
    assert one.test(test_cell(get("leaky_relu"))).reports[0].where is None, "it is right"


def test_the_picture_is_the_same_for_every_secret(submission: Start) -> None:
    pictures, messages = set(), set()
    for secret in ("one", "two"):
        one = submission(IN_THE_PICTURE.format(act="pass"), secret=secret)
        (report,) = one.test(test_cell(get("relu"))).reports
        pictures.add(report.where)
        messages.add(report.failed[0].message)
    assert len(messages) == 2, "the verdict's numbers are each class's own"
    assert len(pictures) == 1


class Clock:
    """Stands where it is until it is put forward: what a submission is charged is then no matter of the machine."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("grader.grading.session.time", clock)
    return clock


@pytest.mark.parametrize("act", ACTS)
def test_what_happens_in_the_picture_costs_nothing(
    submission: Start, clock: Clock, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    plain = submission(IN_THE_PICTURE.format(act="pass")).test(test_cell(get("relu")))
    one = submission(IN_THE_PICTURE.format(act=ACTS[act]), LEAKY, restarts=0, seconds=600.0)
    before = one.deadline
    clock.now += 7.0  # its cells and the verdict
    picture = {"exit": 1.0, "raise": 1.0, "loop": 3.0, "deaf": 3.0}[act]

    def takes_long(*asked: Any) -> Any:
        clock.now += picture
        return with_where(*asked)

    monkeypatch.setattr("grader.grading.session.with_where", takes_long)
    odd = one.test(test_cell(get("relu")))
    assert (odd.reports[0].where is None) == (act in ("exit", "deaf"))
    assert odd.points == plain.points
    assert odd.reports[0].to_dict() == plain.reports[0].to_dict()
    started_anew = act != "raise"
    assert one.deadline - before == pytest.approx(picture + started_anew * 7.0)
    assert one.restarts == started_anew
    assert one.test(test_cell(get("leaky_relu"))).points == 4
    assert one.restarts == 0


def test_after_a_death_no_more_pictures_are_looked_for(submission: Start) -> None:
    again = IN_THE_PICTURE.format(act="os._exit(0)")
    one = submission(again, again.replace("MyReLU", "MyLeakyReLU"), restarts=0)
    assert one.test(test_cell(get("relu"))).points is not None
    found = one.test(test_cell(get("relu")).replace("MyReLU", "MyLeakyReLU"))
    assert found.reports[0].where is None
    assert one.restarts == 0, "the process of the second was not lost"
    assert one.test(test_cell(get("relu")).replace("MyReLU", "MyLeakyReLU")).points == found.points
