# ---
# jupyter:
#   course:
#     goals:
#     - say what a backward receives and what it must return
#     - derive a vector-Jacobian product from a formula
#     - write a Function that keeps the whole contract
#     - recognise the ways of breaking it that raise no error
#     minutes: 65
#     prerequisites:
#     - 00_start_here
#     title: What backward computes, and the contract
# ---

# %% [markdown]
# # 01 · What backward computes, and the contract
#
# When you call `loss.backward()`, many small functions run, one for each operation of your model, and each of them
# answers the same question. In this lesson you answer it by hand, first as plain functions, then as
# `torch.autograd.Function`s that PyTorch calls for you.
#
# **Goals.** You can say what a backward receives and returns, derive it from a formula, write a Function that keeps
# the whole contract, and recognise the ways of breaking it that raise no error.
#
# **Time** about 65 minutes. **Before this:** lesson 00; you know `nn.Module` and the chain rule.

# %%
import weakref

import numpy as np
import torch
from torch.autograd import Function

from grader import check, explain, hint, progress, restore, solution
from grader.learning.plots import COLORS, TEXT, figure

# %%
progress("01_contract")  # where you stand in this lesson; it follows your checks

# %% [markdown]
# ## A gradient that is wrong without an error
#
# Suppose that part of a model is not made of PyTorch operations: a simulator, a compiled kernel, or, as here, one NumPy
# call. We want the gradient of
#
# $$L(x) = x \cdot \sinh(x), \qquad L'(x) = \sinh(x) + x\cosh(x).$$
#
# At $x = 1$ that is $1.175 + 1.543 = 2.718$.
#
# **Predict, then run.** NumPy computes the $\sinh$ below. Will the cell raise an error, print 2.718, or print
# something else?

# %%
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
s = torch.as_tensor(np.sinh(x.detach().numpy()))  # a value that autograd knows nothing about
loss = x * s
loss.backward()
x.grad

# %% [markdown]
# It printed 1.175: the term $x\cosh(x)$ is gone, and nobody complained. To autograd, `s` is a constant, so the path
# from `x` through `s` does not exist. A model with such a gap trains, badly.
#
# `torch.autograd.Function` closes the gap: you supply the forward **and** its backward. You need it seldom, since for
# nearly all model code autograd composes the built-in operations and nobody writes a backward. Three cases remain:
#
# 1. the forward is not made of differentiable operations (as above);
# 2. the gradient is to be *another one* than the true one (lesson 03);
# 3. memory is to be saved by computing things again in backward. Here `torch.utils.checkpoint` is usually the better
#    tool.
#
# So what does one have to supply?

# %% [markdown]
# ## The question each backward answers
#
# Somewhere at the end stands one number, the loss $L$. Somewhere before it, your operation turned $x$ into $y$.
# When the backward of your operation runs, everything after it has been dealt with already, and the result is
# a sensitivity for every element of $y$: *by how much does $L$ grow when this element grows by a little?* These numbers
# form the **upstream gradient**
#
# $$g_i = \frac{\partial L}{\partial y_i}, \qquad \text{a tensor of the shape of } y.$$
#
# The question is the same thing one step earlier: the sensitivity of $L$ to every element of $x$. An element $x_j$ acts on
# $L$ through all the $y_i$ that use it, so their shares add up:
#
# $$\frac{\partial L}{\partial x_j} = \sum_i g_i \frac{\partial y_i}{\partial x_j} = \sum_i g_i J_{ij}.$$
#
# $J$ is the **Jacobian** of your operation, one row per output, one column per input. A row vector times a matrix:
# that is why the answer is called a **vector-Jacobian product**, VJP for short. It has the shape of $x$.

# %% [markdown]
# Look at it once in numbers. The operation multiplies neighbours, $y_i = x_i x_{i+1}$: four inputs, three outputs.

# %%
def neighbours(x):
    return x[:-1] * x[1:]


x = torch.tensor([1.0, -2.0, 3.0, 0.5], dtype=torch.float64)
g = torch.tensor([1.0, 0.5, -2.0], dtype=torch.float64)  # what came from above: one number per output
J = torch.autograd.functional.jacobian(neighbours, x)
vjp = g @ J

# %% [markdown]
# The three side by side, to play with. **Predict, then move:** the last input, $x_3$, acts through $y_2$ alone. If you
# drag *g of output 2* from −2 to 1, which entries of $gJ$ change, and to what? Then choose `softmax(x)` and set all of
# $g$ to 1: what comes back, and why? (It will matter further down.)

# %%
from grader.learning.explorers import explore_vjp

explore_vjp()

# %% [markdown]
# *In the picture:* on the left the row vector g with three entries; in the middle the 3 × 4 Jacobian, whose row i has two
# entries that are not zero, because $y_i$ uses two inputs; on the right their product, with one entry for each of the four
# inputs. Follow the second column: $x_1$ acts through $y_0$ (slope 1) and $y_1$ (slope 3), so its entry is
# $1 \cdot 1 + 0.5 \cdot 3 = 2.5$.
#
# autograd gets the same answer:

# %%
leaf = x.clone().requires_grad_()
neighbours(leaf).backward(g)  # g is passed in here, as if a loss had sent it
leaf.grad, vjp

# %% [markdown]
# But autograd never built $J$. For an operation on a million elements the Jacobian has $10^{12}$ entries, eight
# terabytes in float64. The product $gJ$ has a million. **A backward computes the product without the matrix**, and finding
# a formula for that product is the craft of this lesson.
#
# ### Elementwise operations
#
# If $y_i = f(x_i)$, no input touches another element's output. The Jacobian is diagonal and the sum has one term:
# $\partial L/\partial x_i = g_i\, f'(x_i)$. For the sine:

# %%
def vjp_sin(g, x):
    return g * torch.cos(x)


x = torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64, requires_grad=True)
g = torch.tensor([1.0, -1.0, 10.0], dtype=torch.float64)
torch.sin(x).backward(g)
x.grad, vjp_sin(g, x.detach())

# %% [markdown]
# ### Exercise `vjp_square`: the VJP of a square ★☆☆
#
# For $y_i = x_i^2$, return the vector-Jacobian product.
#
# **Right means:** `g` and `x` have the same shape, which may be any, 0-d and empty included. The answer has that shape
# too, in their dtype, and neither argument is changed.
#
# Stuck? `hint("vjp_square")` in a cell of your own gives a first hint, calling it again the next one.

# %% nbgrader={"grade": false, "grade_id": "vjp_square", "locked": false, "schema_version": 3, "solution": true}
def vjp_square(g: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The vector-Jacobian product of y = x**2 (elementwise) at x with the upstream gradient g."""
    # TODO vjp_square: one line
    ### BEGIN SOLUTION
    return 2 * x * g
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_vjp_square", "locked": true, "points": 2, "schema_version": 3, "solution": false}
check("vjp_square", vjp_square)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("vjp_square", vjp_square)
### END HIDDEN TESTS

# %% [markdown]
# ### Matrices: write the sum, then read it as a product
#
# Take $y = Av$, a matrix times a vector. Nobody wants the Jacobian of that with respect to $A$: it has three indices. Start
# from one entry instead,
#
# $$y_i = \sum_k A_{ik} v_k .$$
#
# *Which outputs use $v_k$?* All of them, with slopes $A_{ik}$. So $\partial L/\partial v_k = \sum_i g_i A_{ik}$, which is
# entry $k$ of $A^\top g$.
#
# *Which outputs use $A_{ik}$?* Only $y_i$, with slope $v_k$. So $\partial L/\partial A_{ik} = g_i v_k$: an outer product.
#
# Two checks cost nothing: each gradient has the **shape of its own input**, and going backwards, a matrix acts as its
# **transpose**.

# %%
def vjp_matvec(g, A, v):
    return torch.outer(g, v), A.T @ g  # the gradients in the order of the arguments: A, then v


A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=torch.float64, requires_grad=True)
v = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
g = torch.tensor([10.0, 1.0], dtype=torch.float64)
(A @ v).backward(g)
print(A.grad, v.grad, sep="\n")
print(*vjp_matvec(g, A.detach(), v.detach()), sep="\n")

# %% [markdown]
# ### Exercise `vjp_matmul`: the VJP of a matrix product ★★☆
#
# For $Y = AB$ with $A$ of shape $(n, k)$ and $B$ of shape $(k, m)$, return **both** gradients as a tuple: that of $A$
# first, then that of $B$. Begin with $Y_{ij} = \sum_k A_{ik} B_{kj}$ and ask the two questions.
#
# **Right means:** `g` has the shape $(n, m)$ of $Y$; each answer has the shape of its own matrix; `n`, `k`, `m` are any
# sizes, and choosing a transpose by looking at the shapes does not work (a check with square matrices sees it).

# %% nbgrader={"grade": false, "grade_id": "vjp_matmul", "locked": false, "schema_version": 3, "solution": true}
def vjp_matmul(g: torch.Tensor, A: torch.Tensor, B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of A and of B in Y = A @ B, given the upstream gradient g of Y."""
    # TODO vjp_matmul: a product for each of the two
    ### BEGIN SOLUTION
    return g @ B.T, A.T @ g
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_vjp_matmul", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("vjp_matmul", vjp_matmul)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("vjp_matmul", vjp_matmul)
### END HIDDEN TESTS

# %% [markdown]
# ### When every output depends on every input
#
# Subtract from each row its mean: $y_i = x_i - \frac1n \sum_j x_j$. Raising one $x_j$ raises $y_j$ and lowers *all*
# outputs of the row a little, so
#
# $$J_{ij} = \delta_{ij} - \tfrac1n
# \qquad\text{and}\qquad
# \sum_i g_i J_{ij} = g_j - \tfrac1n \sum_i g_i,$$
#
# where $\delta_{ij}$ is 1 for $i = j$ and 0 otherwise: it picks the one term $g_j$ out of the sum. In code, each row
# has its own sum, and `keepdim=True` keeps a last dimension of size 1, so that the result lines up with its row again:

# %%
def vjp_center(g, x):
    return g - g.mean(-1, keepdim=True)


x = torch.tensor([[1.0, 2.0, 6.0], [0.0, -1.0, 4.0]], dtype=torch.float64, requires_grad=True)
g = torch.tensor([[1.0, 0.0, 0.0], [1.0, 2.0, 3.0]], dtype=torch.float64)
(x - x.mean(-1, keepdim=True)).backward(g)
x.grad, vjp_center(g, x)

# %% [markdown]
# **Predict, then run.** A softmax turns a row of logits into probabilities. Its Jacobian is surely not zero. What is
# `logits.grad` after `y.sum().backward()`, which sends $g = (1, 1, 1)$? And after the second upstream gradient?

# %%
logits = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
for g in (torch.ones(3, dtype=torch.float64), torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)):
    logits.grad = None
    torch.softmax(logits, -1).backward(g)
    print(f"g = {g.tolist()}   logits.grad = {[round(v, 4) for v in logits.grad.tolist()]}")

# %% [markdown]
# The probabilities always sum to 1, so *their sum* has no slope at all. A backward that returned plain zeros would look
# perfect under `y.sum().backward()`. Keep that in mind whenever you test a gradient: **an upstream gradient of ones hides
# mistakes**. The checks in this course send uneven ones, large ones and negative ones.
#
# ### Exercise `vjp_softmax`: the VJP of a softmax ★★☆
#
# `y` is the *output* of a softmax over the last dimension. Its Jacobian with respect to the logits is
#
# $$J_{ij} = y_i\,(\delta_{ij} - y_j).$$
#
# Return $\sum_i g_i J_{ij}$ for every row, without building $J$. Split the sum into its two terms as above.
#
# **Right means:** `g` and `y` have the same shape with any leading dimensions, and each row along the last dimension is a
# softmax of its own. The answer has that shape, and you never see the logits.

# %% nbgrader={"grade": false, "grade_id": "vjp_softmax", "locked": false, "schema_version": 3, "solution": true}
def vjp_softmax(g: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The gradient of the logits, given y = softmax(logits, -1) and the upstream gradient g of y."""
    # TODO vjp_softmax: the two terms of the sum over i
    ### BEGIN SOLUTION
    return y * (g - (g * y).sum(-1, keepdim=True))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_vjp_softmax", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("vjp_softmax", vjp_softmax)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("vjp_softmax", vjp_softmax)
### END HIDDEN TESTS

# %% [markdown]
# ## Who calls a backward: the graph
#
# While your code runs forward, autograd writes down one node for each operation: how to go back, and to which nodes the
# result goes on. Take $L = x \cdot \sin x$, in which `x` is used twice.

# %%
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
u = torch.sin(x)
L = x * u
print("L was made by    ", L.grad_fn)
for node, _ in L.grad_fn.next_functions:
    print("which goes on to ", node)

# %%
fig, ax = figure(width=9, height=2.7, alt=(
    "Four nodes: x goes to sin and to the product, sin to the product, the product to L. Gradients "
    "come back: 1 to the product, 0.841 to x, 1 to sin, from it 0.540 to x, where it makes 1.382."))
places = {"x": (0, 0), "sin": (1.3, 0.8), "×": (2.9, 0), "L": (4.2, 0)}
for name, (a, b) in places.items():
    ring = {"boxstyle": "circle,pad=0.5", "fc": "none", "ec": TEXT}
    ax.text(a, b, name, ha="center", va="center", fontsize=13, bbox=ring)
arrows = [  # from, to, bend, value going forward, gradient going back, where to write them
    ("x", "sin", -0.1, "x = 1", "g·cos x = 0.540", (0.28, 0.72)),
    ("sin", "×", -0.1, "u = 0.841", "g·x = 1", (2.4, 0.72)),
    ("x", "×", 0.15, "x = 1", "g·u = 0.841", (1.35, -0.62)),
    ("×", "L", 0.0, "L = 0.841", "g = 1", (3.6, 0.27)),
]
for start, end, bend, forward, back, (a, b) in arrows:
    for first, last, color, shift in ((start, end, COLORS[0], 0.05), (end, start, COLORS[1], -0.05)):
        (x0, y0), (x1, y1) = places[first], places[last]
        style = {"arrowstyle": "-|>", "color": color, "shrinkA": 20, "shrinkB": 20, "lw": 1.4,
                 "connectionstyle": f"arc3,rad={bend if first == start else -bend}"}
        ax.annotate("", (x1, y1 + shift), (x0, y0 + shift), arrowprops=style)
    ax.text(a, b + 0.09, forward, ha="center", va="bottom", color=COLORS[0])
    ax.text(a, b, back, ha="center", va="center", color=COLORS[1])
ax.text(-0.1, -0.5, "x.grad = 0.540 + 0.841\n= 1.382", ha="center", va="top", color=COLORS[1])
ax.set(xlim=(-0.9, 4.7), ylim=(-1.05, 1.2))
ax.axis("off")
fig.show()

# %% [markdown]
# *In the picture:* four nodes, x, sin, × and L. Blue arrows carry values from left to right. Orange arrows carry
# gradients back: 1 starts at L, the product sends $g\cdot u$ to `x` and $g\cdot x$ to the sine, the sine multiplies what it
# got by $\cos x$. Two gradients arrive at `x` and are **added**.
#
# Three things to take along:
#
# - A node sees nothing but the gradient that arrives and what it has kept from forward. It does not know the loss.
# - autograd does the adding where paths meet. A backward only **returns** its share; it never writes into `.grad`.
# - The tensor that arrives may be read by other nodes too. So a backward never changes it in place.
#
# ## The contract
#
# Here is a complete Function, the sine:

# %%
class Sine(Function):
    """y = sin(x), elementwise."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)  # what backward will need
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):  # grad_output is g
        (x,) = ctx.saved_tensors  # always a tuple, also for one tensor
        return grad_output * torch.cos(x)


x = torch.tensor([0.0, 1.0], requires_grad=True)
y = Sine.apply(x)
y.backward(torch.tensor([1.0, 10.0]))
y, x.grad

# %% [markdown]
# Your class is a node like any other. **Predict, then choose:** what will the graph of `loss` look like, and which arrow is
# missing in `x * sin(x).detach(), a gap`? That is the hole from the beginning of this lesson, seen from above. Any
# tensors of yours can be drawn: give them with their names.

# %%
from grader.learning.explorers import explore_graph

w = torch.tensor(2.0, requires_grad=True)
loss = (w * Sine.apply(x)).sum()
explore_graph(loss=loss, x=x, w=w)

# %% [markdown]
# The contract, line by line:
#
# 1. `forward` and `backward` are **static**. There is no instance and no `self`; `ctx` is what one call of forward hands
#    to its own backward. It exists once per call.
# 2. You call **`Sine.apply(x)`**. `Sine.forward(...)` would be an ordinary function call: no node of yours, no `ctx`. And
#    `Sine()(x)`, as with a module, is an error.
# 3. Tensors go through **`ctx.save_for_backward(...)`**, all in one call, and come back in `ctx.saved_tensors`. Save
#    inputs or outputs, as they are: no `.detach()`, no `.data`.
# 4. `backward` receives one upstream gradient per output and returns **one gradient per input** of forward, in the same
#    order (a single one may stand alone), `None` for an input that has none.
# 5. Use ordinary tensor operations in backward and change neither inputs nor `grad_output`. Then autograd can
#    differentiate the backward itself when somebody asks for a second derivative.
#
# Point 2 in action, and a first mistake against point 4:

# %%
try:
    Sine.forward(x)
except TypeError as error:
    print("no apply:", error)


class SineTooMany(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        return Sine.backward(ctx, grad_output), grad_output


try:
    SineTooMany.apply(x).sum().backward()
except RuntimeError as error:
    print("count:   ", error)

# %% [markdown]
# These are the friendly mistakes: they raise. Now an unfriendly one.
#
# **Find the bug, then run.** This Function keeps `x` as an attribute of `ctx`. With a fresh tensor it gives the
# right gradient every time. But here the next layer works in place, as many do, and overwrites the tensor between
# forward and backward. At $x = 0$ the slope of the sine is $\cos 0 = 1$. What will the two lines print?

# %%
class SineOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return torch.sin(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.cos(ctx.x)


for fn in (SineOnCtx, Sine):
    leaf = torch.zeros(1, requires_grad=True)
    hidden = leaf * 1
    y = fn.apply(hidden)
    hidden += 3.0
    try:
        y.backward()
        print(fn.__name__, "gives", leaf.grad)
    except RuntimeError as error:
        print(fn.__name__, "refuses:", str(error).split(":")[0])

# %% [markdown]
# `SineOnCtx` used $\cos 3$ and returned −0.99, the wrong sign, without a word. `Sine` refused: `save_for_backward`
# remembers the *version* of every tensor, and each edit in place counts the version up. (The built-in operations save
# in the same way, which is why you may have met this message before.)
#
# `.detach()` is as quiet. The first derivative comes out right, the second does not. Take $y = (\sin x)^2$ at $x = 1$: the
# derivatives are $\sin 2 = 0.909$ and $2\cos 2 = -0.832$.

# %%
class SineDetached(Sine):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        x = x.detach()
        return grad_output * torch.cos(x)


for fn in (Sine, SineDetached):
    x = torch.tensor(1.0, requires_grad=True)
    (first,) = torch.autograd.grad(fn.apply(x) ** 2, x, create_graph=True)  # record the backward as well
    (second,) = torch.autograd.grad(first, x)
    print(f"{fn.__name__:13} first {first:.3f}   second {second:.3f}")

# %% [markdown]
# The second derivative is wrong without a word: to autograd, a detached `x` is a constant, so a term is missing. The same
# happens to anything you *compute* in forward and save, unless it is an output of the Function: inside forward nothing is
# recorded. So save inputs and outputs, and compute in backward.
#
# ### Exercise `cube`: your first Function of this lesson ★★☆
#
# Write `Cube` with $y = x^3$, elementwise.
#
# **Right means:** `Cube.apply(x)` works for `x` of any shape and floating dtype; the gradient is right everywhere (at 0 as
# well); second derivatives are right or refused, never silently wrong; and the five points of the contract hold.

# %% nbgrader={"grade": false, "grade_id": "cube", "locked": false, "schema_version": 3, "solution": true}
class Cube(Function):
    """y = x**3, elementwise; x of any shape."""

    @staticmethod
    def forward(ctx, x):
        # TODO cube: keep what backward needs, return the value
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x**3
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO cube: the upstream gradient times the slope
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return 3 * x**2 * grad_output
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_cube", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("cube", Cube)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("cube", Cube)
### END HIDDEN TESTS

# %% [markdown]
# Each finding of a report begins with the name of a check. Call `explain` with that name to read what the check catches, and what it
# cannot see, as in `explain("edited_inputs")`.

# %% [markdown]
# ## Saving the output instead
#
# Some slopes are easier to say with $y$ than with $x$: for $y = \tanh x$ it is $1 - y^2$. Then save the output, and nothing
# needs computing twice. An output may be saved just like an input; it must be **the very tensor you return**.

# %%
class Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * (1 - y**2)

# %% [markdown]
# With outputs, `ctx.y = y` does a second kind of harm. The output holds its node, the node is the `ctx`, and the
# `ctx` holds the output: a ring. Python frees a ring only when its garbage collector happens to come by, so the memory of
# old training steps piles up. `save_for_backward` knows an output when it sees one and makes no ring.
#
# **Predict, then run.** We delete `y`, the last name for the result. Is its node gone?

# %%
class TanhOnCtx(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = torch.tanh(x)
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * (1 - ctx.y**2)


for fn in (Tanh, TanhOnCtx):
    y = fn.apply(torch.ones(3, requires_grad=True))
    node = weakref.ref(y.grad_fn)  # lets us look without keeping the node alive
    del y
    print(f"{fn.__name__:10} node", "still there" if node() else "freed")

# %% [markdown]
# ### Exercise `exp`: a function that is its own slope ★★☆
#
# Write `Exp` with $y = e^x$. You have the slope in your hand when forward ends: save that.
#
# **Right means:** values, first and second derivatives as for `cube`; **one** floating-point tensor is kept for backward,
# handed over by `save_for_backward`, and the node is freed with its output. (Keeping the input by `save_for_backward` and
# computing the exponential again is accepted as well: it is right, only slower.)

# %% nbgrader={"grade": false, "grade_id": "exp", "locked": false, "schema_version": 3, "solution": true}
class Exp(Function):
    """y = exp(x), elementwise; keeps its output for backward."""

    @staticmethod
    def forward(ctx, x):
        # TODO exp: compute, save, return
        ### BEGIN SOLUTION
        y = torch.exp(x)
        ctx.save_for_backward(y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO exp: the chain rule with what you saved
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return grad_output * y
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_exp", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("exp", Exp)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("exp", Exp)
### END HIDDEN TESTS

# %% [markdown]
# ## Inputs that have no gradient
#
# `apply` takes anything, not only tensors: numbers, strings, `None`. A plain number can be kept as an attribute of
# `ctx`, for it cannot be edited in place and holds no graph. In `backward` its place in the returned tuple is taken by
# **`None`**, which means *there is no gradient here*. Zero would mean something else: a gradient that happens to be 0.

# %%
class Power(Function):
    """y = x**n for a fixed whole number n."""

    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        return x**n

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.n * x ** (ctx.n - 1), None  # one for x, one for n


x = torch.tensor([1.0, 2.0], requires_grad=True)
Power.apply(x, 4).sum().backward()
x.grad

# %% [markdown]
# ### Exercise `scale_by`: an argument without a gradient ★☆☆
#
# Write `ScaleBy` with $y = kx$ for a plain Python number $k$.
#
# **Right means:** `ScaleBy.apply(x, k)` for `x` of any shape and any float `k`, 0 and negative ones included; `k` has no
# gradient; in float64 no digit is lost; `x` is left as it was.

# %% nbgrader={"grade": false, "grade_id": "scale_by", "locked": false, "schema_version": 3, "solution": true}
class ScaleBy(Function):
    """y = k * x; x of any shape, k a Python float."""

    @staticmethod
    def forward(ctx, x, k):
        # TODO scale_by: keep what backward needs, return the value
        ### BEGIN SOLUTION
        ctx.k = k
        return x * k
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO scale_by: one entry for each input of forward
        ### BEGIN SOLUTION
        return grad_output * ctx.k, None
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_scale_by", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("scale_by", ScaleBy)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("scale_by", ScaleBy)
### END HIDDEN TESTS

# %% [markdown]
# ## Several inputs, one of them shared and optional
#
# Real layers have parameters, and a parameter is used by every row of a batch. *Which outputs use it?* Those of all
# rows, so its gradient is a **sum over all rows**. Example: $y_{rj} = x_{rj}\, c_j$ with one factor $c_j$ per column
# and any number of leading dimensions.
#
# $$\frac{\partial L}{\partial x_{rj}} = g_{rj}\, c_j, \qquad \frac{\partial L}{\partial c_j} = \sum_r g_{rj}\, x_{rj}.$$
#
# Any leading dimensions become one with `reshape(-1, n)`: a tensor of shape (2, 3, n) turns into six rows, a single
# vector (n) into one row. After that there is one dimension to sum over.

# %%
class ColumnScale(Function):
    """y = x * factor along the last dimension.

    x of any leading shape, factor of shape (n,) or None for no factor.
    """

    @staticmethod
    def forward(ctx, x, factor=None):
        ctx.save_for_backward(x, factor)  # None may be saved too, and comes back as None
        return x.clone() if factor is None else x * factor

    @staticmethod
    def backward(ctx, grad_output):
        x, factor = ctx.saved_tensors
        if factor is None:
            return grad_output, None
        n = factor.shape[0]
        g_rows, x_rows = grad_output.reshape(-1, n), x.reshape(-1, n)
        return grad_output * factor, (g_rows * x_rows).sum(0)


factor = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
for shape in [(3,), (4, 3), (2, 4, 3)]:
    factor.grad = None
    ColumnScale.apply(torch.ones(shape), factor).sum().backward()
    print(f"x of shape {shape!s:10} factor.grad = {factor.grad.tolist()}")

# %% [markdown]
# Two details to notice.
#
# *The count.* Both returns have two entries, whether there is a factor or not. `ColumnScale.apply(x, None)` has two inputs, so
# two gradients are due. `ColumnScale.apply(x)` has one, and there a surplus `None` at the end is ignored. Always returning
# the full number is right in every case.
#
# *The sum.* If you forgot it and returned `grad_output * x`, of the shape of `x`, PyTorch would not complain: the engine
# sums a gradient that is too large down to its input's shape. That is luck you should not build on. Other callers of
# your backward, and the next exercise, expect **gradients of exactly the inputs' shapes**.
#
# A Function is usually called from a module, which owns the parameters. The module has a `forward` and nothing else:

# %%
class Scale(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.ones(n))

    def forward(self, x):
        return ColumnScale.apply(x, self.factor)


torch.manual_seed(0)
layer = Scale(3)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.2)
data, secret = torch.randn(200, 3), torch.tensor([0.5, -1.0, 2.0])
for _ in range(60):
    optimizer.zero_grad()
    ((layer(data) - data * secret) ** 2).mean().backward()
    optimizer.step()
layer.factor.detach()  # the data were made with 0.5, -1, 2

# %% [markdown]
# ### Exercise `linear`: a linear layer ★★★
#
# Write `LinearFunction` with $y = x W^\top + b$, as in `nn.Linear`: `weight` is $W$ with shape (outputs, inputs), `bias` is
# $b$ with shape (outputs) or `None`, and the last dimension of `x` has size *inputs*. For one row of a batch,
#
# $$y_{ro} = \sum_i x_{ri} W_{oi} + b_o .$$
#
# Ask for each of the three inputs which outputs use it, then read the sums as products, as in `vjp_matmul`.
#
# **Right means:**
# - `x` has any leading dimensions: a single vector, a batch, a batch of sequences;
# - `apply(x, weight)`, `apply(x, weight, None)` and `apply(x, weight, bias)` all work;
# - backward itself returns gradients of exactly the inputs' shapes, without help from the engine;
# - transposes are chosen by reasoning, not by looking at shapes (one check has a square weight);
# - values, second derivatives and the contract as before. Any operation may be used in forward, `torch.nn.functional.linear`
#   included.

# %% nbgrader={"grade": false, "grade_id": "linear", "locked": false, "schema_version": 3, "solution": true}
class LinearFunction(Function):
    """y = x @ weight.T + bias.

    x (..., inputs), weight (outputs, inputs), bias (outputs,) or None; y (..., outputs).
    """

    @staticmethod
    def forward(ctx, x, weight, bias=None):
        # TODO linear: keep what backward needs, return the value with or without a bias
        ### BEGIN SOLUTION
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x @ weight.T
        return y + bias if ctx.has_bias else y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO linear: one gradient for each of x, weight and bias
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        outputs, inputs = weight.shape
        g_rows, x_rows = grad_output.reshape(-1, outputs), x.reshape(-1, inputs)
        grad_bias = g_rows.sum(0) if ctx.has_bias else None
        return grad_output @ weight, g_rows.T @ x_rows, grad_bias
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_linear", "locked": true, "points": 6, "schema_version": 3, "solution": false}
check("linear", LinearFunction)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("linear", LinearFunction)
### END HIDDEN TESTS

# %% [markdown]
# ### Exercise `who_calls_backward`: a module with a backward ★☆☆
#
# A colleague gave a module its own backward, to clip the gradient that flows through it, and wonders why nothing changes.

# %%
class Clipped(torch.nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)

    def backward(self, grad_output):
        print("clipping")
        return grad_output.clamp(-1, 1)


x = torch.tensor([2.0], requires_grad=True)
y = Clipped()(x)
(100 * y).backward()
print(y.grad_fn, x.grad)

# %% [markdown]
# Who calls `Clipped.backward` during training?
#
# - **a** autograd, once for every forward, when the gradient reaches the module
# - **b** the optimizer, in `step()`
# - **c** nobody
# - **d** `nn.Module`, which registers a method of that name as a backward hook
#
# **Right means:** the function returns the letter, in quotes and lower case.

# %% nbgrader={"grade": false, "grade_id": "who_calls_backward", "locked": false, "schema_version": 3, "solution": true}
def who_calls_backward() -> str:
    """One of "a", "b", "c", "d"."""
    # TODO who_calls_backward: return your letter
    ### BEGIN SOLUTION
    return "c"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_who_calls_backward", "locked": true, "points": 1, "schema_version": 3, "solution": false}
check("who_calls_backward", who_calls_backward)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("who_calls_backward", who_calls_backward)
### END HIDDEN TESTS

# %%
progress()

# %% [markdown]
# ## Recap
#
# - A backward returns the vector-Jacobian product: $\sum_i g_i\, \partial y_i/\partial x_j$, in the shape of $x$, without the Jacobian.
# - For each input ask *which outputs use it*, write the sum, read it as a product.
# - Static methods, called by `.apply`; one gradient per input, `None` where there is none.
# - Tensors go through `save_for_backward`: an input or an output, as it is. `ctx.x = x` and `.detach()` go wrong silently.
# - Return new tensors. autograd adds where paths meet, and nobody calls the backward of a module.
#
# ## Do you remember?
#
# Three questions on lesson 00. Answer each before you open it.
#
# <details><summary>Which call gives you the next hint for an exercise, and what does a hint cost?</summary>
# <code>hint("cube")</code>. It costs nothing but the fun of finding out.</details>
#
# <details><summary><code>Double</code> returned 2 times something in its backward. Times what?</summary>
# Times <code>grad_output</code>, the upstream gradient: backward passes on g times the slope, never the slope alone.</details>
#
# <details><summary>You restart the kernel tomorrow. Is your progress lost?</summary>
# No, it is kept in your own folder, and <code>progress()</code> shows it. Only variables are gone: run the cells again.</details>
#
# Next: **02_relu**, a function made of pieces, and what to keep for its backward.
#
# ## Further reading
#
# - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html), the official page on `Function`
# - [Autograd mechanics](https://docs.pytorch.org/docs/stable/notes/autograd.html): saved tensors, versions and in-place edits
# - [Double backward with custom functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html):
#   saving inputs, outputs and intermediates
# - [Automatic differentiation in machine learning: a survey](https://arxiv.org/abs/1502.05767), Baydin et al.: where the VJP comes from
