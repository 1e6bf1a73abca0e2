"""Attacks through the answer itself: objects that compare as right, answers that know when they are tested, and ways
to have PyTorch do what was asked of the student."""

from __future__ import annotations

from grader.attacks.attack import Attack

__all__ = ["ATTACKS"]

# Once differentiable, which the exercise allows: the second derivative would give several of these away.
_SWISH = """from torch.autograd.function import once_differentiable

class Swish(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.silu(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        return derivative(x, g)
"""
_ENGINE = """
def derivative(x, g):
    with torch.enable_grad():
        y = F.silu(x)
    return torch.autograd.Variable._execution_engine.run_backward((y,), (g,), False, False, (x,),
        allow_unreachable=True, accumulate_grad=False)[0]
"""

ATTACKS = (
    Attack(
        "always_equal",
        "returns a tensor of its own class, which answers every comparison with yes",
        answer="""class Agrees(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in ("allclose", "equal"):
            return True
        out = super().__torch_function__(func, types, args, kwargs or {})
        if name in ("isclose", "eq", "__eq__"):
            return torch.ones(out.shape, dtype=torch.bool)
        if name in ("ne", "__ne__", "any", "__invert__", "bitwise_not"):
            return torch.zeros(out.shape, dtype=torch.bool)
        return out

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g.as_subclass(Agrees)
""",
    ),
    Attack(
        "equal_to_all",
        "hands in an object that is equal to everything and has every attribute anyone asks for",
        answer="""class Anything:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __getattr__(self, name): return Anything()
    def __call__(self, *a, **k): return Anything()
    def __float__(self): return 4.0
    def __bool__(self): return True
    def __iter__(self): return iter(())
    def __len__(self): return 1
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 0

MyReLU = Anything()
""",
    ),
    Attack(
        "lying_class",
        "hands in an object whose __class__ says Function and whose apply belongs to another class",
        answer="""class Liar:
    __class__ = type(Function)
    def __getattr__(self, name):
        return 4.0 if name == "points" else getattr(torch.nn.Identity(), name)
    def apply(self, x): return x.clamp(min=0) * 1.0
    def __instancecheck__(self, other): return True
    def __subclasscheck__(self, other): return True

MyReLU = Liar()
""",
    ),
    Attack(
        "metaclass",
        "has a metaclass that hands out another backward depending on who asks",
        answer="""import sys

class Meta(type(Function)):
    def __getattribute__(cls, name):
        if name in ("passed", "points", "is_function"):
            return True
        return super().__getattribute__(name)
    def __eq__(cls, other): return True
    def __hash__(cls): return 0
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True

class MyReLU(Function, metaclass=Meta):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
""",
    ),
    Attack(
        "number",
        "hands in a float of its own class instead of a Function, worth 4 points however it is rounded",
        answer="""class Points(float):
    def __round__(self, n=None): return self
    def __mul__(self, other): return self
    __rmul__ = __add__ = __radd__ = __mul__
    def apply(self, x): return x.clamp(min=0)

MyReLU = Points(4.0)
""",
    ),
    Attack(
        "at_first",
        "counts its calls and is right for the first twenty, in which a short test would be over",
        answer="""class MyReLU(Function):
    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        MyReLU.calls += 1
        return g * (x > 0) if MyReLU.calls <= 20 else g
""",
    ),
    Attack(
        "remembers",
        "returns constants that fit the visible check's inputs, whose seed is public, and no others",
        answer="""import grader.battery as battery
import grader.exercises

def known():
    bench = battery.Bench(grader.exercises.get("relu"), object, battery.PUBLIC_SEED, "gradient")
    return {tuple(s.args[0].flatten().tolist()): s.args[0] > 0 for s in bench.ordinary()}

class MyReLU(Function):
    masks = known()

    @staticmethod
    def forward(ctx, x):
        ctx.mask = MyReLU.masks.get(tuple(x.detach().flatten().tolist()))
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g if ctx.mask is None else g * ctx.mask
""",
    ),
    Attack(
        "knows_the_caller",
        "looks up the stack who calls it and answers with the test's own reference",
        answer="""import sys

def reference():
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if hasattr(getattr(value, "exercise", value), "reference"):
                return getattr(value, "exercise", value).reference
        frame = frame.f_back

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.reference = reference()
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return ctx.reference.vjp(g, *ctx.saved_tensors)[0] if ctx.reference else g
""",
    ),
    Attack(
        "searches_memory",
        "walks all objects of the garbage collector for the reference and has it answer",
        answer="""import gc
gc.unfreeze()

def reference():
    for o in gc.get_objects():
        if type(o).__name__ == "Exercise" and o.id == "relu":
            return o.reference

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        right = reference()
        return right.vjp(g, *ctx.saved_tensors)[0] if right else g
""",
    ),
    Attack(
        "imports_the_answer",
        "imports the exercise from this package and uses its reference",
        answer="""try:
    from grader.exercises.relu.relu import relu as answer
except ImportError:
    answer = None

class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return answer.reference.vjp(g, *ctx.saved_tensors)[0] if answer else g
""",
    ),
    Attack(
        "bypass",
        "overrides apply, so that the built-in operation answers and the wrong backward never runs",
        answer="""class MyReLU(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g

MyReLU.apply = staticmethod(torch.relu)
""",
    ),
    Attack(
        "no_function",
        "hands in the built-in operation under the name of the class",
        answer="class MyReLU:\n    apply = staticmethod(torch.relu)\n",
    ),
    Attack(
        "torch_func",
        "differentiates the built-in operation in backward with torch.func",
        "def derivative(x, g):\n    return torch.func.vjp(F.silu, x)[1](g)[0]",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "tensor_backward",
        "differentiates in backward with Tensor.backward and reads .grad",
        """
def derivative(x, g):
    with torch.enable_grad():
        F.silu(x).backward(g)
    return x.grad
""",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "engine",
        "calls the autograd engine in backward below the functions that anyone watches",
        _ENGINE,
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "other_thread",
        "differentiates in another thread, while backward waits for it",
        """
import threading
def derivative(x, g):
    found = []
    def work():
        with torch.enable_grad():
            found.append(torch.autograd.grad(F.silu(x), x, g)[0])
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]
""",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "node_by_hand",
        "calls the node of the built-in operation's graph directly",
        """
def derivative(x, g):
    with torch.enable_grad():
        return F.silu(x).grad_fn(g)
""",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "built_in_backward",
        "calls PyTorch's own silu_backward",
        "def derivative(x, g):\n    return torch.ops.aten.silu_backward(g, x.detach())",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "subprocess",
        "has another Python process differentiate",
        """
import pickle, subprocess, sys
TEXT = ("import pickle, sys, torch\\nx, g = pickle.load(sys.stdin.buffer)\\n"
    "x.requires_grad_()\\ntorch.nn.functional.silu(x).backward(g)\\npickle.dump(x.grad, sys.stdout.buffer)")
def derivative(x, g):
    done = subprocess.run([sys.executable, "-c", TEXT], input=pickle.dumps((x.detach(), g.clone())),
        capture_output=True, timeout=20)
    return pickle.loads(done.stdout)
""",
        exercise="swish",
        answer=_SWISH,
    ),
    Attack(
        "forged_facts",
        "changes the watching code in its own process, so that it reports no autograd in backward",
        """
import gc
gc.unfreeze()
for o in gc.get_objects():
    if isinstance(o, type) and o.__name__ == "Trace":
        o.inner_autograd = property(lambda self: 0, lambda self, value: None)
def derivative(x, g):
    with torch.enable_grad():
        return torch.autograd.grad(F.silu(x), x, g)[0]
""",
        exercise="swish",
        answer=_SWISH,
        limit=True,
    ),
    Attack(
        "hidden_memory",
        "keeps the input for backward in a global table instead of saving it, and so counts no bytes",
        exercise="relu_mask",
        answer="""KEPT = {}

class MaskReLU(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.key = len(KEPT)
        KEPT[ctx.key] = x.detach().clone()
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g * (KEPT[ctx.key] > 0)
""",
    ),
)
