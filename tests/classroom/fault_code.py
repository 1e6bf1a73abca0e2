"""Faults of code: what a student's cells do to the process they run in. They cost the exercise that they are in."""

from __future__ import annotations

from pathlib import Path

from tests.classroom.fault_lesson import LESSON, Fault, Sheet, answer, answers, extra, hand_in, named, solved

__all__ = ["CODE", "HEAVY"]

NO_CUBE = 5.0  # of 9: the exercise in the middle is lost, the one before and the one after are not


def with_helper(place: Path, sheet: Sheet) -> None:
    """The answer is in a module beside the notebook, which has a package of its own beside it."""
    (place / "parts").mkdir()
    (place / "parts" / "__init__.py").write_text("POWER = 3\n")
    (place / "helper.py").write_text("from torch.autograd import Function\nfrom parts import POWER\n" + solved("cube"))
    (place / "data.csv").write_text("1,2\n")
    named(sheet, "cube")["source"] = "from helper import Cube\nassert open('data.csv').read() == '1,2\\n'"
    hand_in(place, sheet)


def helper_named_like_ours(place: Path, sheet: Sheet) -> None:
    """Files that hide modules: the student's own process finds them, nobody else."""
    for name in ("grader", "numpy", "json", "site", "sitecustomize", LESSON):
        (place / f"{name}.py").write_text("raise RuntimeError('not the real one')\n")
    hand_in(place, sheet)


WRONG = solved("cube").replace("return x**3", "return 7")
SIGNATURE = solved("cube").replace("(ctx, x)", "(ctx)")
TWICE = WRONG + "\n\n\n" + solved("cube")
EARLIER = "class Cube(_Base):\n    pass"
RAISES_IN_REPR = "__repr__ = __str__ = lambda self: 1 / 0"
OBJECT = "class Odd:\n    {}\nodd = Odd()\nodd"
CLOBBER = """
grade = check = hint = points = report = secret_points = names = exercises = get = verdict = None
judge = test = Submission = grader = display = get_ipython = print = repr = None
"""
NO_MODULES = "import sys\nfor name in list(sys.modules):\n    if name.startswith(('numpy', 'json', 'ast')):\n        del sys.modules[name]"
NEVER_ENDS = (
    "import threading, time\nfor _ in range(20):\n    threading.Thread(target=lambda: time.sleep(9999)).start()"
)
BUSY = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()"
CHILD = "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9999)'])"
LOOP = "while True: pass"
SWALLOWS = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
HANGS = "import time\ntime.sleep(9999)"
GROWS = "many = []\nwhile True: many.append(bytearray(10 ** 8))"
FILLS = "with open('big', 'wb') as file:\n    for _ in range(10_000): file.write(b'x' * 10 ** 6)"
BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
SIGNALS = "import signal\nfor n in (signal.SIGALRM, signal.SIGPROF, signal.SIGTERM, signal.SIGINT):\n    signal.signal(n, signal.SIG_IGN)"
ASYNC = "import asyncio\nasync def wait():\n    await asyncio.sleep(0)\n    return 3\nthree = await wait()"
DELETES = "import os, shutil\nfor name in os.listdir('.'):\n    shutil.rmtree(name, ignore_errors=True)\n    os.path.isfile(name) and os.remove(name)"

CODE = [
    # a cell of their own, between the first test and the second exercise: costs nothing
    Fault("sys.exit", extra("import sys\nsys.exit(3)"), row="sys.exit(), quit()"),
    Fault("quit", extra("quit()\nexit()"), row="sys.exit(), quit()"),
    Fault("interrupts itself", extra("raise KeyboardInterrupt")),
    Fault("input", extra("n = int(input('how many? '))"), row="input() left in"),
    Fault("stdin", extra("import sys\nsys.stdin.read()\nsys.stdin.readline()\nopen(0).read()"), row="input() left in"),
    Fault("warns", extra("import warnings\nwarnings.simplefilter('always')\nwarnings.warn('old')"), row="a warning on stderr"),
    Fault("warnings are errors", extra("import warnings\nwarnings.simplefilter('error')"), row="a warning on stderr"),
    Fault("warns in backward", answer("import sys, warnings", backward="warnings.warn('old'); print('hm', file=sys.stderr)"), row="a warning on stderr"),
    Fault("stray last expression", extra("100"), row="stray last expression scores full marks"),
    Fault("stray last expression, wrong answer", answers(cube=WRONG + "\n\n4.0"), NO_CUBE, row="stray last expression scores full marks"),
    Fault("names of the harness", extra(CLOBBER), row="harness variable clobbers the student's"),
    Fault("an exception", extra("1 / 0")),
    Fault("a syntax error", extra("def (:\n    pass")),
    Fault("deep expression", extra("x = " + "(" * 5000 + "1" + ")" * 5000)),
    Fault("long expression", extra("x = " + "+".join(["1"] * 20_000))),
    Fault("number of 100,000 digits", extra("n = " + "9" * 100_000)),
    Fault("tabs and spaces", extra("if True:\n\tx = 1\n        y = 2")),
    Fault("Python 2", extra("print 'hello'\nexec 'x = 1'")),
    Fault("line ends of Windows", answers(cube=solved("cube").replace("\n", "\r\n"))),
    Fault("odd white space", extra("x\u00a0= 1\n\u200bprint(x)\x0c")),
    Fault("prints control characters", extra("print('\\x00\\x1b[31m\\x07\\r\\x08', end='')\nprint(chr(0xd800))")),
    Fault("prints markup", extra("print('</pre><script>alert(1)</script>')")),
    Fault("prints on one line", extra("print('x' * 10 ** 6, end='')")),
    Fault("repr raises", extra(OBJECT.format(RAISES_IN_REPR))),
    Fault("repr is no text", extra(OBJECT.format("__repr__ = lambda self: 7"))),
    Fault("error without words", extra("class Bad(Exception):\n    def __str__(self): 1 / 0\nraise Bad")),
    Fault("raises in __del__", extra("class Bad:\n    def __del__(self): 1 / 0\nbad = Bad()\ndel bad")),
    Fault("closes stdout", extra("import sys\nsys.stdout.close()\nsys.stderr.close()")),
    Fault("no stdout", extra("import sys\nsys.stdout = sys.stderr = sys.__stdout__ = None")),
    Fault("closes all files", extra("import os\nos.closerange(0, 3)")),
    Fault("own print", extra("import builtins\nbuiltins.print = builtins.repr = builtins.len = None\n")),
    Fault("shallow recursion", extra("import sys\nsys.setrecursionlimit(60)")),
    Fault("elsewhere", extra("import os\nos.chdir('/')"), row="helper files: student's edits overwritten"),
    Fault("deletes all files", extra(DELETES)),
    Fault("no environment", extra("import os\nos.environ.clear()")),
    Fault("no modules", extra(NO_MODULES)),
    Fault("no import", extra("import builtins, sys\nsys.path.clear()\nsys.meta_path.clear()")),
    Fault("traces", extra("import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)")),
    Fault("ignores signals", extra(SIGNALS)),
    Fault("an alarm", extra("import signal\nsignal.alarm(1)")),
    Fault("at exit", extra("import atexit, os\natexit.register(os.abort)")),
    Fault("threads that never end", extra(NEVER_ENDS)),
    Fault("a process that never ends", extra(CHILD)),
    Fault("no garbage collector", extra("import gc\ngc.disable()\ngc.freeze()")),
    Fault("float16 by default", extra("torch.set_default_dtype(torch.float16)")),
    Fault("meta by default", extra("torch.set_default_device('meta')")),
    Fault("no gradients", extra("torch.set_grad_enabled(False)")),
    Fault("inference mode", extra("torch.inference_mode().__enter__()")),
    Fault("anomaly mode", extra("torch.autograd.set_detect_anomaly(True)")),
    Fault("deterministic", extra("torch.use_deterministic_algorithms(True)")),
    Fault("threads of torch", extra("torch.set_num_threads(64)")),
    Fault("own seed", extra("import random\ntorch.manual_seed(1)\nrandom.seed(1)")),
    Fault("printing of torch", extra("torch.set_printoptions(precision=99, threshold=0)")),
    Fault("await", extra(ASYNC, cube="assert three == 3\n" + solved("cube"))),
    Fault("magics", extra("%matplotlib inline\n%load_ext autoreload\n!pip install nothing\n?print\ny = 3")),
    Fault("writes a file by magic", extra("%%writefile notes.txt\nhello")),
    Fault("runs a file by magic", extra("%run other.ipynb")),
    Fault("get_ipython", extra("get_ipython().run_line_magic('pylab', 'inline')\nget_ipython().system('ls')")),
    Fault("shows a picture", extra("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")),
    Fault("picture in a window", extra("import matplotlib\nmatplotlib.use('TkAgg')\nimport matplotlib.pyplot as plt\nplt.figure()")),
    Fault("needs the network", extra("import urllib.request\nurllib.request.urlopen('http://localhost:1/', timeout=1)")),
    Fault("data of their own", extra("import pandas_of_mine\nx = open('/home/me/data.csv')")),
    Fault("helper file", with_helper, row="helper files: student's edits overwritten"),
    Fault("files that hide modules", helper_named_like_ours),
    # in the answer itself
    Fault("name of a deleted cell", answers(cube=f"power = power_of_a_deleted_cell\n\n{solved('cube')}"), NO_CUBE, says="NameError", row="passed in the live kernel, fails from the file"),
    Fault("out of order", extra("_Base = Function", behind="test_exp", cube=EARLIER), NO_CUBE, says="NameError", row="passed in the live kernel, fails from the file"),
    Fault("state of an earlier exercise", answers(vjp_square="seen = 3\n" + solved("vjp_square"), cube=solved("cube").replace("**3", "**seen"))),
    Fault("asserts while it is defined", answers(cube=solved("cube") + "\n\nassert Cube.apply(torch.ones(1)) == 2, 'no'")),
    Fault("tests itself, then fails", answers(cube=solved("cube") + "\n\nCube.apply(3)\n")),
    Fault("defined twice", answers(cube=TWICE)),
    Fault("another signature", answers(cube=SIGNATURE), NO_CUBE),
    Fault("another name", answers(cube=solved("cube").replace("Cube", "cube")), NO_CUBE, says="Cube is not defined"),
    Fault("a value for a class", answers(cube="Cube = 3"), NO_CUBE),
    Fault("an instance for a class", answers(cube=solved("cube") + "\n\nCube = Cube()"), NO_CUBE),
    Fault("indented", answers(cube="\n".join("    " + line for line in solved("cube").splitlines())), NO_CUBE, says="IndentationError"),
    Fault("does not parse", answers(cube=solved("cube").replace("(ctx, x):", "(ctx, x)")), NO_CUBE, says="SyntaxError"),
    Fault("smart quotes", answers(cube=solved("cube") + "\nname = “cube”"), NO_CUBE, says="SyntaxError"),
    Fault("an unwritten answer", answers(cube="class Cube(Function):\n    @staticmethod\n    def forward(ctx, x):\n        raise NotImplementedError"), NO_CUBE, says="not written yet"),
    Fault("an emptied answer", answers(cube=""), NO_CUBE, says="Cube is not defined"),
    Fault("long docstring", answers(cube=solved("cube").replace("(Function):", "(Function):\n    '''" + "é" * 100_000 + "'''"))),
    Fault("no hash", answers(cube="class Meta(type(Function)):\n    __hash__ = None\n" + solved("cube").replace("(Function)", "(Function, metaclass=Meta)"))),
    Fault("leaves in forward", answer("import sys", forward="sys.exit(0)"), NO_CUBE),
    Fault("asks in forward", answer(forward="input()"), NO_CUBE, says="keyboard"),
    Fault("endless recursion", answer(forward="return Cube.apply(x)"), NO_CUBE),
    Fault("infinite loop", answer(forward="while True: pass"), NO_CUBE, says="no answer after", row="infinite loop"),
    Fault("infinite loop while it is defined", answers(cube=LOOP), NO_CUBE, says="cube", row="infinite loop"),
    Fault("os._exit", answer("import os", forward="os._exit(0)"), NO_CUBE, row="os._exit, segfault, kernel death"),
    Fault("os._exit while it is defined", answer("import os", after="os._exit(0)"), NO_CUBE, says="cube", row="os._exit, segfault, kernel death"),
    Fault("segfault", answer("import ctypes", backward="ctypes.string_at(0)"), NO_CUBE, row="os._exit, segfault, kernel death"),
    Fault("aborts in a thread", answer("import os, threading", forward="threading.Thread(target=os.abort).start()"), NO_CUBE, row="os._exit, segfault, kernel death"),
    Fault("forks", answer("import os", forward="os.fork()"), NO_CUBE),
    Fault("prints in backward", answer(backward="print('hello ' * 1000)"), row="huge output"),
]  # fmt: skip

HEAVY = [
    # seconds each: what waits for a limit, or makes a machine work
    Fault("swallows interrupts", extra(SWALLOWS), says="cell", row="infinite loop"),
    Fault("sleeps for ever", extra(HANGS), says="cell", row="infinite loop"),
    Fault("sleeps in forward", answer("import time", forward="time.sleep(9999)"), NO_CUBE, row="infinite loop"),
    Fault("swallows interrupts in forward", answer("def stay():\n" + "\n".join("    " + line for line in SWALLOWS.splitlines()), forward="stay()"), NO_CUBE, row="infinite loop"),
    Fault("repr never ends", extra("class Odd:\n    def __repr__(self):\n        while True: pass\nOdd()")),
    Fault("waits for itself", extra("import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()")),
    Fault("a busy thread", extra(BUSY)),
    Fault("prints for ever", extra("while True: print('x' * 1000)"), row="huge output"),
    Fault("prints 100 MB", extra("for _ in range(1000): print('x' * 100_000)"), row="huge output"),
    Fault("returns 100 MB", extra("'x' * 10 ** 8"), row="huge output"),
    Fault("wants all memory", extra(GROWS)),
    Fault("wants 10 GB at once", extra("x = torch.ones(10 ** 10 // 4)\ny = bytearray(10 ** 10)")),
    Fault("fills the disk", extra(FILLS)),
    Fault("writes many files", extra("for n in range(10 ** 5): open(f'f{n}', 'w')")),
    Fault("fork bomb", extra(BOMB)),
    Fault("endless generator", answers(cube="Cube = max(iter(int, 1))"), NO_CUBE, row="infinite loop"),
]  # fmt: skip
