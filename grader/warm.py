"""What a first check would have to import, imported beforehand: several hundred modules, over a second of work.

torch loads much of itself when it is first wanted: gradcheck brings SymPy, the meta device brings the compiler's
front end. `warm()` loads it all at once, for a process that is about to judge; `warm_when_idle()` does it in a
notebook's kernel between the learner's cells.

Between them, not beside them: two threads that import modules which import each other can meet half-made ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache

from grader.learning.notebook import in_a_notebook

__all__ = ["import_all", "warm", "warm_aloud", "warm_when_idle"]


def import_all() -> None:
    """Import what it takes to judge code that runs elsewhere, and compute nothing: a process may still be forked
    afterwards."""
    for name in _JUDGING:
        importlib.import_module(name)


@lru_cache(maxsize=1)
def warm() -> None:
    """Load, in this process and now, everything that a check imports on its way; once.

    Every judgement of code in this process begins so: a time limit that ended an import half-way would leave torch
    broken for good.
    """
    for step in _steps():
        _quietly(step)


def warm_aloud() -> None:
    """warm(); in a notebook say so while it lasts, unless it was done already. Nothing to see is left."""
    if not in_a_notebook() or warm.cache_info().currsize:
        return warm()
    from IPython.display import display

    text = "First check of this kernel: getting ready ..."
    shown = display({"text/plain": text}, raw=True, display_id=True)  # type: ignore[no-untyped-call]
    warm()
    shown.update({"text/html": "", "text/plain": ""}, raw=True)
    return None


def warm_when_idle() -> None:
    """In a notebook's kernel, load it step by step while the kernel has nothing else to do; elsewhere nothing.

    The kernel's event loop runs the steps on the main thread, one after the other, and drops them when it ends.
    """
    if "IPython" not in sys.modules or "ipykernel" not in sys.modules:
        return
    with contextlib.suppress(RuntimeError):  # no event loop: this is no cell of a running kernel
        _one_by_one(asyncio.get_running_loop(), itertools.chain(_steps(), (_matplotlib, _draw_once)))


def _one_by_one(loop: asyncio.AbstractEventLoop, steps: Iterator[Callable[[], object]]) -> None:
    def run() -> None:
        step = next(steps, None)
        if step is not None:
            _quietly(step)
            loop.call_later(_PAUSE, run)
        else:
            warm()  # finds everything there

    loop.call_later(_PAUSE, run)


_PAUSE = 0.02  # seconds in which the kernel turns to whatever else waits
_JUDGING = (
    "grader.exercises.start_here",
    "grader.exercises.contract",
    "grader.exercises.relu",
    "grader.exercises.straight_through",
    "grader.exercises.gradcheck",
    "grader.checking",
    "grader.diagnosis",
    "grader.where.find",
    "grader.learning.progress",
    "sympy",
    "torch.fx.experimental.symbolic_shapes",
)
_RUNNING = ("torch._dynamo",)  # by the first use of the meta device


def _steps() -> Iterator[Callable[[], object]]:
    for name in (*_JUDGING, *_RUNNING):
        yield lambda name=name: importlib.import_module(name)  # type: ignore[misc]
    yield _gradcheck_once
    yield _meta_once


def _quietly(step: Callable[[], object]) -> None:
    """A step that fails is no loss: whoever needs the module will import it, and hear of the failure then."""
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        step()


def _gradcheck_once() -> None:
    import torch

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(torch.sin, (x,))


def _matplotlib() -> None:
    """What draws pictures: for a learner only, a grading run has none."""
    importlib.import_module("grader.where.draw")


def _draw_once() -> None:
    """The first picture loads fonts, and on a new machine looks for them."""
    from grader.where.draw import picture
    from grader.where.model import Line, Plot, Where

    picture(Where("", (Plot("", "", (0.0, 1.0), (Line("", "yours", (0.0, 1.0)),)),)))


def _meta_once() -> None:
    """Operations on the meta device are where torch loads its reference implementations."""
    import torch

    x = torch.ones(2, device="meta", requires_grad=True)
    torch.autograd.grad(x.clamp(min=0).sum(), x)
