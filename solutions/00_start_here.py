# ---
# jupyter:
#   course:
#     goals:
#     - run, restart and recover a lesson without losing work
#     - use the loop of write, check, read the report, hint, progress
#     - see why a wrong backward needs a check to be found
#     minutes: 10
#     prerequisites: []
#     title: Start here
# ---

# %% [markdown]
# # 00 · Start here
#
# **10 minutes.** You know PyTorch modules and the chain rule. In this course you write the derivative of an operation
# yourself, with `torch.autograd.Function`, and learn to tell a right one from one that only looks right.
#
# This first lesson is about the tools: how to run a lesson, how to get an answer checked, and what to do when
# something goes wrong. There is one exercise; it takes a minute.
#
# Click into the cell below and press **Shift + Enter**. That runs it and moves on. Do the same with every cell.

# %%
import torch
from torch.autograd import Function

from grader import check, explain, hint, progress, restore, solution

# %% [markdown]
# ## PyTorch believes you
#
# Here is an operation with a derivative of its own. `forward` computes the value. `backward` is given `grad_output`,
# the gradient $g = \partial L / \partial y$ of the loss with respect to the output, and returns the gradient with
# respect to the input. For $y = 3x$ the chain rule says
#
# $$\frac{\partial L}{\partial x} = \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial x} = g \cdot 3 .$$

# %%
class Triple(Function):
    """y = 3x, elementwise."""

    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        return 3 * grad_output

# %% [markdown]
# A Function is called through `.apply`, never through `forward` directly. (What `ctx` is for comes in lesson 01.)
#
# **Predict, then run.** With $x = 5$ and $L = (3x)^2$, what is $\partial L / \partial x$?

# %%
x = torch.tensor(5.0, requires_grad=True)
loss = Triple.apply(x) ** 2
loss.backward()
x.grad

# %% [markdown]
# 90: the square contributes $2y = 30$, and `Triple` multiplies what it is given by 3. The picture shows it. Values go
# to the right (blue), gradients come back to the left (orange), and each box only ever sees its own neighbours.

# %%
from grader.learning.plots import chain, figure

fig, ax = figure(width=8, height=1.8, alt=(
    "Two boxes in a row, Triple and square. Going right: x = 5, y = 15, L = 225. "
    "Coming back: dL/dL = 1, dL/dy = 30, dL/dx = 90."))
chain(
    ax,
    nodes=["Triple", "square"],
    forward=["x = 5", "y = 15", "L = 225"],
    backward=["dL/dx = 90", "dL/dy = 30", "dL/dL = 1"],
)
fig.show()

# %% [markdown]
# Now the same operation with a mistake: the backward returns the slope of $3x$ and forgets `grad_output`.
#
# **Predict, then run.** Will PyTorch complain? What will the gradient be?

# %%
class Careless(Function):
    """y = 3x, with a backward that is wrong."""

    @staticmethod
    def forward(ctx, x):
        return 3 * x

    @staticmethod
    def backward(ctx, grad_output):
        return torch.full_like(grad_output, 3)

# %%
x = torch.tensor(5.0, requires_grad=True)
loss = Careless.apply(x) ** 2
loss.backward()
x.grad

# %% [markdown]
# 3 instead of 90, and not a word of warning. Autograd cannot know what you meant: it takes what `backward` returns. A
# network with such a bug still trains, only worse. So every exercise here comes with a **check** that holds your
# answer against the mathematics.
#
# ## The loop: write, check, read, hint
#
# A check takes the name of an exercise and your answer. Let us see a report first. The exercise below is called
# `double` and asks for $y = 2x$; hand in `Triple`, which is wrong, on purpose:

# %%
check("double", Triple)

# %% [markdown]
# Read a report from the top:
#
# - the **points**: part of an answer can earn part of them;
# - the grey box: if the mistake is a well-known one, a sentence about it;
# - below it what the single checks **observed**, with numbers, the likely cause and where to look;
# - **Where**: a picture of your answer beside the right one, the difference shaded;
# - *See … fail yourself*: open it for a few lines of code that repeat the first failure in a cell of your own.
#
# Each observation starts with the short name of its check. You can look that up:

# %%
explain("forward")

# %% [markdown]
# ### Exercise `double`: twice as much ★☆☆
#
# Write $y = 2x$ with its backward. Replace the lines that say `raise NotImplementedError`. (Stars show how hard an
# exercise is, from one to three.)
#
# *Right* means: for an `x` of any shape and floating-point dtype the output is $2x$, a new tensor of the same shape
# and dtype, and the gradient is what the chain rule says for any `grad_output`.

# %% nbgrader={"grade": false, "grade_id": "double", "locked": false, "schema_version": 3, "solution": true}
class Double(Function):
    """y = 2x, elementwise; x of any shape and floating-point dtype."""

    @staticmethod
    def forward(ctx, x):
        # TODO double: return the value
        ### BEGIN SOLUTION
        return 2 * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO double: return the gradient with respect to x
        ### BEGIN SOLUTION
        return 2 * grad_output
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_double", "locked": true, "points": 1, "schema_version": 3, "solution": false}
check("double", Double)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("double", Double)
### END HIDDEN TESTS

# %% [markdown]
# Not passed yet? Change the class, run **its cell**, then run the check again. As often as you like: a check costs
# nothing, and your best one counts. Stuck? Each call gives one hint more, from gentle to nearly there:

# %%
hint("double")

# %% [markdown]
# Passed? Then see how else it could be done, and what each way keeps in memory for `backward`. (For those who are
# stuck it opens too: after three different answers that were checked, and a yes to giving up.)

# %%
solution("double")

# %% [markdown]
# And where do I stand? This lists all lessons. It is kept with your files, so it is still there tomorrow. Nothing
# of it leaves your machine. `grader progress` in a terminal shows the same.

# %%
progress()

# %% [markdown]
# `hint("double", again=True)` starts the hints over. `progress(reset="double")` marks an exercise (or a lesson,
# `reset="02_relu"`) as not started, and `progress(undo="double")` takes that back.
#
# ## When something goes wrong
#
# **Cells remember.** A notebook runs in the order in which *you* run it, not from top to bottom.
#
# *Predict, then run* the second cell below three times. Then run the first one, and the second once more.

# %%
step = 1

# %%
step = step * 2
step

# %% [markdown]
# 2, 4, 8; and after the first cell 2 again. The variable lives on between runs. So an exercise can look solved because
# of a cell you have since changed or deleted, or look broken because its cell was not run again.
# `NameError: name 'torch' is not defined` means that an earlier cell has not been run since the start.
#
# - **Start clean:** menu *Kernel → Restart Kernel and Run All Cells*. Nothing you typed is lost; only variables are.
#   Do this once before you call a lesson finished.
# - **You are asked to select a kernel:** a cell was run before the notebook was ready. *Python 3* is right, press *Select*.
# - **A cell does not come to an end:** the square ■ in the toolbar (or *Kernel → Interrupt Kernel*) stops it.
# - **One exercise afresh:** add `restore("double")` as the last line of the exercise's own cell and run it. The cell
#   turns back into what it was at first, and nothing else does. What you had written is kept in `.grader/kept` beside
#   the lessons; **Ctrl + Z** in the cell brings it back too.
# - **A fresh copy of a lesson:** rename your file (right click on it in the list on the left, *Rename*) and start the
#   course again (`make learn` or `grader learn`). The missing lesson is put back as new, and your file stays.
# - **Where my files are:** in the folder that was printed when the course started. The next cell shows it. Updates of
#   the course never overwrite a lesson you have edited; a newer version is put beside it.

# %%
from pathlib import Path

print(Path.cwd())

# %% [markdown]
# ## Recap
#
# - PyTorch takes what `backward` returns and never checks it. You have to.
# - Write, `check`, read the report, `hint` if stuck, `progress` to see where you stand.
# - Call a Function through `.apply`; `backward` multiplies `grad_output` by the operation's own derivative.
# - In doubt, restart the kernel and run all cells.
#
# Next: **01_contract**, what backward computes, and what it has to promise.
#
# ## Further reading
#
# - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html), the official notes on Function
# - [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html), how the graph is recorded and run
# - [Notebooks in JupyterLab](https://jupyterlab.readthedocs.io/en/stable/user/notebook.html)
