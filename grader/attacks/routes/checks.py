"""Attacks on what judges: PyTorch's comparisons, this package, Python's own functions."""

from __future__ import annotations

from grader.attacks.attack import Attack

__all__ = ["ATTACKS"]

ATTACKS = (
    Attack(
        "gradcheck",
        "replaces torch.autograd.gradcheck, allclose, isclose and equal by functions that say yes",
        """
torch.autograd.gradcheck = torch.autograd.gradgradcheck = lambda *a, **k: True
torch.allclose = torch.equal = lambda *a, **k: True
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
""",
    ),
    Attack(
        "tensor_methods",
        "patches torch.Tensor so that no comparison finds a difference",
        """
torch.Tensor.any = lambda *a, **k: torch.tensor(False)
torch.Tensor.all = lambda *a, **k: torch.tensor(True)
torch.Tensor.__eq__ = lambda *a: True
torch.Tensor.__bool__ = lambda self: False
""",
    ),
    Attack(
        "own_grade",
        "replaces grader.hidden.grade",
        "import grader.hidden\ngrader.hidden.grade = lambda *a, **k: 4.0",
    ),
    Attack(
        "own_battery",
        "replaces the function inside this package that makes the verdict",
        """
import grader.battery, grader.checking, grader.hidden
from types import SimpleNamespace
def yes(*a, **k):
    return SimpleNamespace(points=4.0, passed=True, exercise="relu", text=lambda: "right", to_dict=lambda: {})
grader.battery.judge = grader.checking.verdict = grader.hidden.verdict = yes
""",
    ),
    Attack(
        "code_object",
        "gives every function of the battery another code object, so that references held elsewhere change too",
        """
import gc, types
gc.unfreeze()
for f in [o for o in gc.get_objects() if isinstance(o, types.FunctionType)]:
    if f.__module__ and f.__module__.startswith("grader.") and f.__name__ == "difference":
        f.__code__ = (lambda got, right, tolerance: "").__code__
""",
    ),
    Attack(
        "tolerance",
        "finds the exercise's contract among all objects and makes its tolerance huge",
        """
import gc
gc.unfreeze()
for o in gc.get_objects():
    if type(o).__name__ == "Contract":
        object.__setattr__(o, "tolerance", 1e9)
""",
    ),
    Attack(
        "all_points_early",
        "gives all points to a stage that is passed already, in the exercise's own table",
        """
import gc
gc.unfreeze()
for o in gc.get_objects():
    if type(o).__name__ == "Exercise":
        o.stages.clear()
        o.stages["forward"] = 1.0
""",
    ),
    Attack(
        "harmless_inputs",
        "makes all the test's random inputs positive, where the wrong gradient is the right one",
        """
import torch as t
old = {n: getattr(t, n) for n in ("randn", "rand", "normal", "empty")}
for n, f in old.items():
    setattr(t, n, lambda *a, f=f, **k: f(*a, **k).abs())
import gc
gc.unfreeze()
for o in gc.get_objects():
    if type(o).__name__ == "Draw" or getattr(o, "__name__", "") == "Draw":
        kind = o if isinstance(o, type) else type(o)
        make = kind.normal
        kind.normal = lambda self, *a, make=make, **k: make(self, *a, **k).abs() + 0.1
        break
""",
    ),
    Attack(
        "import_function",
        "replaces builtins.__import__, so that every import of grade gives another function",
        """
import builtins
import types
real = builtins.__import__
def imports(name, *a, **k):
    if name == "grader.hidden":
        return types.SimpleNamespace(grade=lambda *a: 4.0)
    return real(name, *a, **k)
builtins.__import__ = imports
""",
    ),
    Attack(
        "fake_module",
        "puts a module of its own into sys.modules in place of grader.hidden",
        """
import sys, types
fake = types.ModuleType("grader.hidden")
fake.grade = lambda *a: 4.0
sys.modules["grader.hidden"] = fake
""",
    ),
    Attack(
        "import_finder",
        "forgets the loaded package and puts an import finder in front that writes its own",
        """
import importlib.abc, importlib.machinery, sys
class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "grader":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def exec_module(self, module):
        module.grade = module.check = lambda *a, **k: 4.0
for name in [n for n in sys.modules if n.split(".")[0] == "grader"]:
    del sys.modules[name]
sys.meta_path.insert(0, Finder())
""",
    ),
    Attack(
        "builtins",
        "replaces float, round, print and sum, through which the points go",
        """
import builtins
builtins.float = builtins.round = builtins.sum = lambda *a, **k: 4.0
builtins.print = lambda *a, **k: None
""",
    ),
    Attack(
        "trace_function",
        "sets a profiling function that gives grade its own globals when it is called",
        """
import sys, types
def watch(frame, event, arg):
    if event == "call" and frame.f_code.co_name == "grade":
        frame.f_globals["verdict"] = lambda *a, **k: types.SimpleNamespace(
            points=4.0, exercise="relu", text=lambda: "", to_dict=lambda: {})
sys.setprofile(watch)
""",
    ),
    Attack(
        "thread",
        "leaves a thread behind that goes on replacing what judges, however often it is put back",
        """
import sys, threading, time
def again():
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for name in ("grader.hidden", "__main__"):
            if name in sys.modules:
                sys.modules[name].grade = lambda *a: 4.0
        time.sleep(0.001)
threading.Thread(target=again, daemon=True).start()
""",
    ),
    Attack(
        "own_names",
        "defines grade, check and its own points as names of the notebook",
        "check = grade = lambda *a, **k: 4.0\npoints = score = 4.0",
    ),
    Attack(
        "known_execution",
        "does nothing at home, and cheats only where NBGRADER_EXECUTION is set",
        """
import os
if os.environ.get("NBGRADER_EXECUTION"):
    import grader.hidden
    grader.hidden.grade = lambda *a: 4.0
""",
    ),
)
