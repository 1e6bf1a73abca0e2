"""What an attack is: a submission of lesson 02 that honest work would not earn its points with, or that reaches for
what is not its own.

Attacks are run with nbgrader alone too, with your rights and without a sandbox. So each must be harmless: it writes
only into the class, which is a throw-away one, and into the folder LOOT, it talks to this machine alone, and it ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.classroom.master import grade_id

__all__ = ["HONEST", "LESSON", "NEIGHBOUR", "NEXT", "Attack", "Edit", "Field", "beside", "submission"]

LESSON = "02_relu"
NEIGHBOUR = "anna"  # graded before any attacker
NEXT = "zoe"  # and after

RELU = '''class MyReLU(Function):
    """Lets all of the gradient through."""

    @staticmethod
    def forward(ctx, x):
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        return g
'''
SWISH = '''class Swish(Function):
    """Has PyTorch do what the exercise asks for."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.silu(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(F.silu(x), x, g)[0]
'''
MASK = '''class MaskReLU(Function):
    """Keeps x, which is four or eight bytes an element."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x > 0)
'''
LEAKY = '''class LeakyReLU(Function):
    """Right: no attack may lose this, nor gain by it."""

    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, g, ctx.slope * g), None
'''
HONEST = {"relu": RELU, "swish": SWISH, "relu_mask": MASK}
"""The honest wrong answer that stands for each exercise; its points are what an attack on it deserves."""


@dataclass(frozen=True)
class Field:
    """What an attacker finds; all of it is made for the suite.

    root     the class folder
    loot     a folder outside the class that everyone may write to: what lies there afterwards was put there
    private  somebody's file outside the class
    port     a server on this machine
    """

    root: Path
    loot: Path
    private: Path
    port: int


Edit = Callable[[NotebookNode, Path, Field], None]


def _nothing(_notebook: NotebookNode, _folder: Path, _field: Field) -> None:
    """The notebook and its folder as they are."""


def beside(files: dict[str, str]) -> Edit:
    """Puts these files, by name with their text, into the submission's folder."""

    def put(_notebook: NotebookNode, folder: Path, _field: Field) -> None:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    return put


@dataclass(frozen=True)
class Attack:
    """One attack.

    id        short and unique; the attacking student's name ends in it
    route     one plain sentence
    code      what stands below the answer, with ROOT, LOOT, PRIVATE, PORT and ME defined
    exercise  whose points it wants; the rest of the submission is honest, leaky_relu right, all others not done
    answer    instead of the honest wrong answer
    edit      what else is done to the notebook and its folder, last
    harms     further ways in which it shows: "page" in a page, "next" in how the next student is graded
    limit     only what the student's own process says of itself is forged, which docs/security.md does not promise
              to see through
    """

    id: str
    route: str
    code: str = ""
    exercise: str = "relu"
    answer: str = ""
    edit: Edit = field(default=_nothing, repr=False)
    harms: frozenset[str] = frozenset()
    limit: bool = False

    def hand_in(self, release: Path, folder: Path, field: Field) -> None:
        """Write the submission into `folder`."""
        head = {
            "ROOT": str(field.root),
            "LOOT": str(field.loot),
            "PRIVATE": str(field.private),
            "PORT": field.port,
            "ME": self.id,
        }
        lines = "\n".join(f"{name} = {value!r}" for name, value in head.items())
        answer = self.answer or HONEST[self.exercise]
        text = f"{lines}\n{answer}\n{self.code}" if self.code else f"{lines}\n{answer}"
        notebook = submission(release, {self.exercise: text})
        folder.mkdir(parents=True)
        self.edit(notebook, folder, field)
        file = folder / f"{LESSON}.ipynb"
        if not file.is_symlink():
            nbformat.write(notebook, file)


def submission(release: Path, answers: dict[str, str]) -> NotebookNode:
    """The released notebook with these answers and a right leaky_relu."""
    notebook: NotebookNode = nbformat.read(release, as_version=4)
    for cell in notebook.cells:
        name = grade_id(cell)
        if name in answers or name == "leaky_relu":
            cell.source = answers.get(name, LEAKY)
    return notebook
