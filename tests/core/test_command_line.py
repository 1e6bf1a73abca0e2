"""`grader check` and `grader exercises`: exit codes, Box B's JSON, and code that ends or outlives its process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner, Result

from grader.cli import main
from grader.exercises import catalogue, get
from tests.processes import all_gone

HEAD = "import os, sys, time\nimport torch\nfrom torch.autograd import Function\n"
RELU = """
class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        {forward}
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        {backward}
        return g * (x > 0)
"""
RIGHT = HEAD + RELU.format(forward="pass", backward="pass")
FINDING = {"check": str, "passed": bool, "message": str}


def relu(*, before: str = "", forward: str = "pass", backward: str = "pass") -> str:
    return HEAD + before + "\n" + RELU.format(forward=forward, backward=backward)


@pytest.fixture
def run(tmp_path: Path) -> Any:
    def run(source: str | bytes, *options: str, exercise: str = "relu") -> Result:
        file = tmp_path / "answer.py"
        file.write_bytes(source if isinstance(source, bytes) else source.encode())
        return CliRunner().invoke(main, ["check", exercise, str(file), *options])

    return run


def verdict_of(result: Result) -> dict[str, Any]:
    """The JSON on stdout: exactly Box B's keys and types."""
    said: dict[str, Any] = json.loads(result.stdout)
    assert list(said) == ["exercise", "passed", "points", "out_of", "findings", "diagnosis"]
    assert [type(v) for v in said.values()] == [str, bool, float, int, list, list]
    for finding in said["findings"]:
        assert {key: type(value) for key, value in finding.items()} == FINDING
    assert result.exit_code == (0 if said["passed"] else 1)
    return said


# ---- a verdict -----------------------------------------------------------------------------------------------------


def test_a_right_answer_in_a_process_of_its_own(tmp_path: Path) -> None:
    """`python -m grader` is the command, and what the code prints does not mix with the JSON."""
    file = tmp_path / "mine.py"
    loud = "print('loud'); print('loud', file=sys.stderr); os.write(1, b'loud'); os.write(2, b'loud')"
    file.write_text(relu(before=loud, forward=loud))
    command = [sys.executable, "-m", "grader", "check", "relu", str(file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    said = json.loads(done.stdout)
    assert (said["exercise"], said["passed"], said["points"], said["out_of"]) == ("relu", True, 4.0, 4)
    assert said["findings"] != []
    assert all(f["passed"] for f in said["findings"])


def test_a_wrong_answer_is_named(run: Any) -> None:
    said = verdict_of(run(relu(backward="return -g * (x > 0)"), "--json"))
    assert (said["passed"], said["points"], said["diagnosis"][0]) == (False, 0.0, "sign_flipped")
    assert "vjp" in [f["check"] for f in said["findings"] if not f["passed"]]


@pytest.mark.slow
def test_a_wrong_answer_as_text(run: Any) -> None:
    result = run(relu(backward="return -g * (x > 0)"))
    assert result.exit_code == 1
    assert result.stdout.startswith("✗ ReLU by hand: not there yet, 0 of 4 points\n  Diagnosis: ")
    assert "  - vjp: " in result.stdout


@pytest.mark.slow
def test_another_name(run: Any) -> None:
    assert verdict_of(run(RIGHT.replace("MyReLU", "Other"), "--json", "--name", "Other"))["passed"]


@pytest.mark.slow
def test_a_plain_exercise(run: Any) -> None:
    right = "def vjp_square(g, x):\n    return 2 * x * g\n"
    assert verdict_of(run(right, "--json", exercise="vjp_square"))["passed"]


# ---- no verdict ----------------------------------------------------------------------------------------------------

# name: (the file, what is said on stderr)
NOT_CHECKED = {
    "wrong symbol": (
        RIGHT.replace("MyReLU", "Relu"),
        r"does not define MyReLU\. It defines Relu; choose one with --name",
    ),
    "nothing defined": ("x = 1\n", r"does not define MyReLU\. It defines no class or function"),
    "syntax": ("x = 1\nclass MyReLU(:\n", r"answer\.py is not valid Python: line 2: "),
    "binary": (b"\x00\x01", r"is not valid Python"),
    "not UTF-8": (b"x = '\xff'\n", r"is not valid Python"),
    "raises at import": (
        "x = 1\n1 / 0\n",
        r"could not be run: ZeroDivisionError: division by zero \(at line 2: 1 / 0\)",
    ),
    "exits at import": ("import sys\nsys.exit(0)\n", r"could not be run: SystemExit: 0"),
}


@pytest.mark.parametrize(
    "name", ["wrong symbol", *(pytest.param(n, marks=pytest.mark.slow) for n in NOT_CHECKED if n != "wrong symbol")]
)
def test_a_file_that_cannot_be_checked(run: Any, name: str) -> None:
    source, said = NOT_CHECKED[name]
    result = run(source, "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(said, result.stderr)
    assert result.stderr.startswith("grader: ")
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_name_that_is_not_there(run: Any) -> None:
    result = run(RIGHT, "--name", "Other")
    assert result.exit_code == 2
    assert "does not define Other. It defines MyReLU; choose one with --name." in result.stderr


@pytest.mark.slow
def test_an_unknown_exercise(run: Any) -> None:
    result = run(RIGHT, exercise="rellu")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no exercise 'rellu'. Did you mean relu?" in result.stderr


def test_no_file_no_process(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.py", tmp_path):
        result = CliRunner().invoke(main, ["check", "relu", str(path)])
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"there is no file {path}" in result.stderr


@pytest.mark.parametrize("limit", ["0", "-1", "soon"])
def test_a_time_limit_that_is_none(run: Any, limit: str) -> None:
    result = run(RIGHT, "--time-limit", limit)
    assert result.exit_code == 2
    assert "--time-limit" in result.stderr


# ---- code that ends the process, or never does ---------------------------------------------------------------------

# name: (the file, the time limit, a phrase of the message)
NO_ANSWER = {
    "os._exit": (relu(forward="os._exit(0)"), "60", "ended its process without an answer (exit code 0)"),
    "crash": (relu(forward="import ctypes; ctypes.string_at(0)"), "60", "killed its process (signal 11)"),
    "loop at import": (relu(before="while True: pass"), "9", "did not come to an end"),
    "sleep at import": (relu(before="time.sleep(1000)"), "9", "did not come to an end"),
    "loop in backward": (relu(backward="while True: pass"), "200", "backward did not come to an end"),
}


@pytest.mark.parametrize(
    "name", ["os._exit", *(pytest.param(n, marks=pytest.mark.slow) for n in NO_ANSWER if n != "os._exit")]
)
def test_code_without_an_answer_is_wrong_and_told_why(run: Any, name: str) -> None:
    source, limit, phrase = NO_ANSWER[name]
    result = run(source, "--json", "--time-limit", limit)
    said = verdict_of(result)
    assert (said["exercise"], said["points"], said["out_of"], said["diagnosis"]) == ("relu", 0.0, 4, [])
    assert [f["check"] for f in said["findings"]] == ["runs"]
    assert phrase in said["findings"][0]["message"]
    assert result.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks on this system")
def test_a_process_that_the_code_forked_is_gone_afterwards(run: Any, tmp_path: Path) -> None:
    fork = f"""
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    open({str(tmp_path / "pid")!r}, "w").write(str(child))
    """
    assert verdict_of(run(relu(before=textwrap.dedent(fork)), "--json"))["passed"]
    pid = int((tmp_path / "pid").read_text())
    with contextlib.suppress(psutil.NoSuchProcess):
        assert all_gone([psutil.Process(pid)], seconds=10), "the forked process is still there"


@pytest.mark.slow
def test_a_thread_that_never_ends_does_not_hold_the_verdict_up(run: Any) -> None:
    thread = "import threading\nthreading.Thread(target=time.sleep, args=(1000,)).start()"
    assert verdict_of(run(relu(before=thread), "--json"))["passed"]


@pytest.mark.slow
def test_input_gets_nothing(run: Any) -> None:
    said = verdict_of(run(relu(forward="input('?')"), "--json"))
    assert "EOFError" in said["findings"][0]["message"]


@pytest.mark.slow
def test_torch_patched_at_import_does_not_judge(run: Any) -> None:
    patch = "torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)\ntorch.autograd.gradcheck = print"
    said = verdict_of(run(relu(before=patch, backward="return g"), "--json"))
    assert {"vjp", "gradcheck"} <= {f["check"] for f in said["findings"] if not f["passed"]}


# ---- the catalogue -------------------------------------------------------------------------------------------------

SYLLABUS = {
    "00_start_here": "double",
    "01_contract": "vjp_square vjp_matmul vjp_softmax cube exp scale_by linear who_calls_backward",
    "02_relu": "relu leaky_relu clamp relu_mask swish",
    "03_straight_through": "binarize sign_clipped round_ste fake_quantize ste_detach grad_reverse train_binary",
    "04_gradcheck": "numerical_vjp my_gradcheck choose_inputs upstream_linear name_the_bug fix_tanh fix_mul fix_norm",
}
SYMBOLS = {
    "double": "Double",
    "cube": "Cube",
    "exp": "Exp",
    "scale_by": "ScaleBy",
    "linear": "LinearFunction",
    "relu": "MyReLU",
    "leaky_relu": "LeakyReLU",
    "clamp": "Clamp",
    "relu_mask": "MaskReLU",
    "swish": "Swish",
    "binarize": "Binarize",
    "sign_clipped": "SignSTE",
    "round_ste": "RoundSTE",
    "fake_quantize": "FakeQuantize",
    "grad_reverse": "GradReverse",
    **{id: id for id in ["vjp_square", "vjp_matmul", "vjp_softmax", "ste_detach", "train_binary", "my_gradcheck"]},
    **{id: id for id in ["who_calls_backward", "numerical_vjp", "choose_inputs", "upstream_linear", "name_the_bug"]},
}


def test_the_list_has_the_exercises_of_the_syllabus() -> None:
    result = CliRunner().invoke(main, ["exercises", "--json"])
    assert result.exit_code == 0
    entries = json.loads(result.stdout)
    ids = {lesson: [e["id"] for e in entries if e["lesson"] == lesson] for lesson in SYLLABUS}
    assert {lesson: sorted(found) for lesson, found in ids.items()} == {
        lesson: sorted(names.split()) for lesson, names in SYLLABUS.items()
    }
    assert {e["id"]: e["symbol"] for e in entries if e["id"] in SYMBOLS} == SYMBOLS
    for entry in entries:
        assert list(entry) == ["id", "symbol", "lesson", "title", "kind", "points", "misconceptions"]
        assert entry["points"] == get(entry["id"]).points
        assert entry["misconceptions"] != []
        assert all(m["id"] and m["sentence"].strip() for m in entry["misconceptions"])


def test_the_table_lists_every_exercise() -> None:
    result = CliRunner().invoke(main, ["exercises"])
    assert result.exit_code == 0
    for id in catalogue():
        assert re.search(rf"^\S+ +{id} +{get(id).symbol} ", result.stdout, re.MULTILINE), id


def test_the_command_does_not_load_torch_itself() -> None:
    """The process that waits for the verdict starts at once; only the one that judges loads torch."""
    program = "import sys, grader.cli, grader.loading; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
