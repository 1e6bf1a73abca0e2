# ---
# jupyter:
#   course:
#     goals:
#     - write forward and backward of an operation made of pieces
#     - know what PyTorch does at a kink, and what you may do there
#     - leave grad_output as you found it, and know what breaks otherwise
#     - choose what to save for backward, and measure what it costs
#     minutes: 50
#     prerequisites:
#     - 01_contract
#     title: A piecewise op, and what to save
# ---

# %% [markdown]
# # 02 · A piecewise op, and what to save
#
# ReLU is about the simplest operation in a network. It is also enough to meet most of what goes wrong in hand-written
# backwards: a point without a derivative, a gradient that belongs to somebody else, and memory nobody needed to spend.
#
# After this lesson you can write the backward of any operation made of pieces, say what it costs in bytes, and
# halve or quarter that where it pays.
#
# **Time** about 50 minutes. **Before this:** lesson 01.

# %%
import warnings

import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader import check, explain, hint, progress, restore, solution
from grader.learning.plots import COLORS, TEXT, figure

# %%
progress("02_relu")  # where you stand in this lesson; it follows your checks

# %% [markdown]
# ## One function, three ways to write it
#
# Here are three ways to write ReLU with PyTorch's own operations. Their outputs are the same for every input there is.

# %%
relus = {
    "torch.relu(x)": torch.relu,
    "torch.maximum(x, 0)": lambda x: torch.maximum(x, torch.zeros_like(x)),
    "x.clamp(min=0)": lambda x: x.clamp(min=0),
}
for name, f in relus.items():
    print(f"{name:20}", f(torch.tensor([-2.0, -0.5, 0.0, 0.5, 2.0])).tolist())

# %% [markdown]
# Now a model with a single weight $w$ that starts at exactly 0 and should bring its output $f(w)$ to 1. That is not
# far-fetched: gates, last layers and adapters are often initialised with zeros. The loss is $(f(w) - 1)^2$.
#
# **Predict, then run.** Same function, same start, same optimizer: will the three runs differ?

# %%
def train(f, steps=40, lr=0.05):
    """Gradient descent on (f(w) - 1)² from w = 0; the value f(w) after every step."""
    w = torch.zeros((), requires_grad=True)
    outputs = [f(w).item()]
    for _ in range(steps):
        (grad,) = torch.autograd.grad((f(w) - 1) ** 2, w)
        with torch.no_grad():
            w -= lr * grad
        outputs.append(f(w).item())
    return outputs

fig, ax = figure(width=7, height=2.5, alt=(
    "Output over 40 steps of training: with maximum and with clamp it climbs from 0 to 1, "
    "with torch.relu it stays at 0."))
for (name, f), style in zip(relus.items(), ("-", "-", "--"), strict=True):
    ax.plot(train(f), style, linewidth=2, label=name)
ax.set(xlabel="step", ylabel="output f(w)", yticks=[0, 0.5, 1])
ax.legend(loc="center right")
fig.show()

# %% [markdown]
# The picture shows the output over 40 steps: with `maximum` and `clamp` it climbs to 1, `clamp` half a step
# ahead; with `torch.relu` it stays at 0 for ever.
#
# The outputs were the same. So it is the backward that differs, and there is just one place where it can: at 0.
#
# **Predict, then run.** You know now that the first number is 0. What are the other two?

# %%
for name, f in relus.items():
    x = torch.zeros((), requires_grad=True)
    f(x).backward()
    print(f"{name:20} derivative at 0: {x.grad.item()}")

# %% [markdown]
# ## At a kink there is a choice
#
# To the right of 0 ReLU has slope 1, to the left slope 0. *At* 0 there is no tangent. What there is: lines that touch
# the graph at that point and lie nowhere above it. Every slope from 0 to 1 gives one. Those slopes are called
# **subgradients**, and the set of them is written
#
# $$\partial\,\mathrm{relu}(x) = \begin{cases} \{0\} & x < 0 \\ [0, 1] & x = 0 \\ \{1\} & x > 0. \end{cases}$$
#
# The picture shows, on the left, the function with the line that autograd's slope means at the orange point (grey: other
# supporting lines); on the right its slopes, which at 0 fill the whole grey interval. Every slope in it is measured by
# autograd, none is written down.
#
# **Predict, then choose** `torch.maximum(x, 0)`, `where(x >= 0, x, 0)` and `x.abs()`: which slope at 0? Then move x off the
# kink. How far must you go until they all agree with relu, as far as they are the same function?

# %%
from grader.learning.explorers import explore_kink

explore_kink()

# %% [markdown]
# PyTorch's notes state a rule for this: of all subgradients take the one of smallest norm. `relu` follows it. So does
# `maximum`, as a function of *two* inputs: in a tie the shortest pair of slopes that add up to 1 is (½, ½). `clamp` does
# not: it counts its bound as inside and lets the gradient pass. All three are legal subgradients, they are just not the
# same one. (These are the numbers of PyTorch 2.13; none of the three pages promises them.)
#
# Two things follow.
#
# - **For you as author:** at a kink any slope between that of the left and that of the right side is right. The checks
#   in this course accept each of them, unless an exercise states the value.
# - **For you as tester:** never compare two implementations *at* a kink. They may both be right and still disagree.

# %% [markdown]
# ## The recipe for an operation made of pieces
#
# An elementwise operation $y_i = f(x_i)$ made of pieces has one slope per piece. With the upstream gradient
# $g_i = \partial L / \partial y_i$, the chain rule says for each element
#
# $$\frac{\partial L}{\partial x_i} = g_i \cdot f'(x_i), \qquad f'(x_i) = \text{the slope of the piece that } x_i \text{ is on}.$$
#
# So backward has two questions: *which piece was this element on*, and *what is the slope there*. The answer to the first
# is in $x$, which only forward sees, so forward saves something that tells it. Here is the whole recipe for
# $y = |x|$: slope −1 on the left, +1 on the right.

# %%
class Abs(Function):
    """y = |x|, elementwise, for x of any shape. The slope at 0 is taken to be 1."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)          # tells the pieces apart
        return torch.where(x < 0, -x, x)  # a value for each piece

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return torch.where(x < 0, -grad_output, grad_output)  # upstream times slope, for each piece

# %% [markdown]
# Compare it with the built-in one, away from the kink and with an upstream gradient that is not all ones (we weight the
# outputs before the sum; those weights are the `grad_output` that arrives).

# %%
weights = torch.tensor([10.0, 20.0, 30.0, 40.0])
for f in (Abs.apply, torch.abs):
    x = torch.tensor([-2.0, -0.5, 0.5, 2.0], requires_grad=True)
    (f(x) * weights).sum().backward()
    print(x.grad.tolist())

# %% [markdown]
# A slope of 1 or 0 is even easier: `grad_output * mask` with a boolean mask keeps the elements where the mask is
# `True` and gives 0 elsewhere. You will not need more than that for your first one.
#
# ### Exercise `relu` ★☆☆
#
# Write `MyReLU`. The value is there already; you decide what to save, and write `backward`.
#
# Right means:
# - the gradient is $g_i$ where $x_i > 0$ and 0 where $x_i < 0$; at $x_i = 0$ anything from 0 to $g_i$ will do;
# - it works for every shape and for float32 as well as float64, and NaN in gives NaN out (as `clamp` does);
# - what you were handed, `x` and `grad_output`, is left as it was;
# - whatever you save goes through `ctx.save_for_backward`. What you save is up to you.
#
# Stuck? `hint("relu")` gives a first nudge, the next call a stronger one. And `explain(...)` with an id out of
# a report says what that check is about.

# %% nbgrader={"grade": false, "grade_id": "relu", "locked": false, "schema_version": 3, "solution": true}
class MyReLU(Function):
    """y = max(x, 0), elementwise, for x of any shape."""

    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0)
        # TODO relu: save what backward needs to tell the two pieces apart
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ### END SOLUTION
        return y

    @staticmethod
    def backward(ctx, grad_output):
        # TODO relu: return dL/dx, a new tensor
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return grad_output * (x > 0)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_relu", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("relu", MyReLU)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("relu", MyReLU)
### END HIDDEN TESTS

# %% [markdown]
# ## `grad_output` is not yours
#
# A backward that is found in many repositories saves one allocation: it writes the zeros straight into the gradient it
# received. It passes `gradcheck`. Let us use it in the most ordinary place there is, a residual block
# $y = x + \mathrm{relu}(x)$.

# %%
class ThriftyReLU(Function):
    """Right in a chain, wrong in a graph."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0  # no new tensor needed ... or is it?
        return grad_output

# %% [markdown]
# **Predict, then run.** With $x = (-1, 2, -3)$ and the upstream gradient $(10, 20, 30)$: the skip connection passes the
# upstream gradient on as it is, the ReLU adds it once more where $x > 0$. Which three numbers should come out, and
# which do you expect from `ThriftyReLU`?

# %%
weights = torch.tensor([10.0, 20.0, 30.0])
for name, f in (("torch.relu", torch.relu), ("ThriftyReLU", ThriftyReLU.apply)):
    x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
    y = x + f(x)
    (y * weights).sum().backward()
    print(f"{name:12}", x.grad.tolist())

# %% [markdown]
# The gradient of the *skip connection* is gone for $x < 0$, although that branch has no ReLU in it. No error, no warning.
#
# ```text
#        ┌── relu ──┐
# x ─────┤          + ── y
#        └── skip ──┘
#
#        ┌── relu <─┐
# grad <─┤          + <─ g, the
#        └── skip <─┘   same one
# ```
#
# The derivative of a sum is 1 towards each of its terms, so the backward of `+` has nothing to compute: it passes the
# very same tensor to both branches. We can see that. `Spy` changes nothing, it only says where in memory its gradient
# lies and how it is laid out.

# %%
class Spy(Function):
    """y = x; prints what arrives in backward."""

    @staticmethod
    def forward(ctx, x, name):
        ctx.name = name
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        where = f"address ...{grad_output.data_ptr() % 10**6:06d}"
        print(f"{ctx.name:6} {where}   shape {tuple(grad_output.shape)}   stride {grad_output.stride()}")
        return grad_output, None

x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
y = Spy.apply(x, "relu") + Spy.apply(x, "skip")
(y * weights).sum().backward()

# %% [markdown]
# Twice the same address: who writes there writes into both branches.
#
# There is a second surprise of this kind, and it needs no branches at all. The gradient of `.sum()` is 1 for every
# element. PyTorch does not store that number three times; it stores it once and *pretends*.

# %%
x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
Spy.apply(x, "sum").sum().backward()

# %% [markdown]
# Shape `(3,)`, stride `(0,)`: to get from one element to the next, move 0 places in memory. The three elements *are* one
# number. Read it as you like, but a write to one element is a write to all:

# %%
x = torch.tensor([-1.0, 2.0, -3.0], requires_grad=True)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # PyTorch does warn here; in a training log nobody sees it
    ThriftyReLU.apply(x).sum().backward()
print("torch.relu gives [0.0, 1.0, 0.0], ThriftyReLU", x.grad.tolist())

# %% [markdown]
# **The rule:** treat `grad_output` as read-only, whatever its layout. Everything that makes a new tensor is fine:
# `grad_output * mask`, `torch.where(...)`, `grad_output.masked_fill(...)`, or `grad_output.clone()` and then write into the
# clone. Everything that ends in `_`, and every `grad_output[...] = `, is not.
#
# **Find the bug.** A colleague read this and mended a backward like so. What do you tell them?
#
# ```python
# grad_input = grad_output
# grad_input[x < 0] = 0
# return grad_input
# ```
#
# <details><summary>Answer</summary>
#
# `=` makes a second name, not a second tensor: `grad_input` *is* `grad_output`. It takes `grad_output.clone()`.
#
# </details>

# %% [markdown]
# ## Numbers as further inputs
#
# Many operations take a plain number besides the tensor: a slope, a bound, a threshold. Three things change.
#
# 1. A Python number goes on ctx as an attribute: `ctx.threshold = threshold`. (Tensors do not: they go through
#    `save_for_backward`, as lesson 01 showed.)
# 2. `backward` returns one value per input of forward, in the same order. A number takes no gradient: `None`.
# 3. It belongs to *this call*: keep it on `ctx`, never on the class. The next call would overwrite it.
#
# As an example, *hard shrinkage*, used for denoising: small values become 0, the others stay.
#
# $$y_i = \begin{cases} 0 & -t \le x_i \le t \\ x_i & \text{otherwise} \end{cases}$$
#
# Two conditions at once are written with `&` (both) or `|` (at least one) and a pair of brackets around each; the words
# `and` and `or` do not work elementwise.

# %%
class HardShrink(Function):
    """y = x where |x| > threshold, else 0; elementwise, threshold a float of at least 0."""

    @staticmethod
    def forward(ctx, x, threshold):
        ctx.save_for_backward(x)
        ctx.threshold = threshold
        small = (x >= -threshold) & (x <= threshold)
        return x.masked_fill(small, 0.0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        small = (x >= -ctx.threshold) & (x <= ctx.threshold)
        return grad_output.masked_fill(small, 0.0), None  # None: the threshold takes no gradient

x = torch.tensor([-2.0, -0.3, 0.2, 0.9], requires_grad=True)
y = HardShrink.apply(x, 0.5)
(y * torch.tensor([10.0, 20.0, 30.0, 40.0])).sum().backward()
print(y.tolist(), x.grad.tolist())

# %% [markdown]
# ### Exercise `leaky_relu` ★★☆
#
# The leaky ReLU lets a little through on the left: $y = x$ for $x > 0$, and $y = \text{slope} \cdot x$ otherwise. Write the
# whole Function, `LeakyReLU.apply(x, slope)`.
#
# Right means:
# - `slope` is a Python float, and *any* float: 0.1, but also 0, 1.5 or −0.5. (Before you take a short cut, sketch
#   the graph for 1.5 and for −0.5.)
# - at $x = 0$ each slope between `slope` and 1 is accepted;
# - two calls with different slopes do not get in each other's way.

# %% nbgrader={"grade": false, "grade_id": "leaky_relu", "locked": false, "schema_version": 3, "solution": true}
class LeakyReLU(Function):
    """y = x for x > 0, slope * x otherwise; elementwise, slope any float."""

    @staticmethod
    def forward(ctx, x, slope):
        # TODO leaky_relu: keep what backward needs, return the value
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO leaky_relu: one value for each input of forward
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, grad_output, ctx.slope * grad_output), None
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_leaky_relu", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("leaky_relu", LeakyReLU)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("leaky_relu", LeakyReLU)
### END HIDDEN TESTS

# %% [markdown]
# ### Exercise `clamp` ★★☆
#
# `Clamp.apply(x, low, high)` holds $x$ inside a window: $y = \min(\max(x, \text{low}), \text{high})$. Three pieces this time.
# Draw them first and write the slope next to each.
#
# Right means:
# - `low < high` are Python floats, and the window need not contain 0 nor lie evenly around it;
# - inside the window the gradient passes whole, however large it is; outside nothing passes;
# - at the two ends each slope from 0 to 1 is accepted; NaN in gives NaN out;
# - one returned value for each of the three inputs.

# %% nbgrader={"grade": false, "grade_id": "clamp", "locked": false, "schema_version": 3, "solution": true}
class Clamp(Function):
    """y = min(max(x, low), high), elementwise; low < high are floats."""

    @staticmethod
    def forward(ctx, x, low, high):
        # TODO clamp: keep what backward needs, return the value (x.clamp may help)
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(low, high)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO clamp: where does y move when x moves?
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        inside = (x > ctx.low) & (x < ctx.high)
        return grad_output * inside, None, None
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_clamp", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("clamp", Clamp)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("clamp", Clamp)
### END HIDDEN TESTS

# %% [markdown]
# ## What to save, and what it costs
#
# Whatever forward saves stays in memory until backward has used it. In training that is often what fills
# the card, more than the weights. For $y = |x|$ or ReLU there are three candidates:
#
# | saved | it tells the pieces apart because | bytes per element (float32) |
# |---|---|---|
# | the input $x$ | $x > 0$ is the question itself | 4 |
# | the output $y$ | only for ReLU: $y > 0$ exactly where $x > 0$ | 4 |
# | a boolean mask | it *is* the answer | 1 |
#
# No need to believe a table. PyTorch calls a hook for every tensor an operation saves, so we can count. The same memory
# saved twice counts once.

# %%
def bytes_kept(f, *args):
    """Bytes that wait in memory between f(*args) and its backward."""
    storages = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        f(*args)
    return sum(storage.nbytes() for storage in storages.values())

# %% [markdown]
# Here is `Abs` again with a mask. The mask is neither input nor output, but it is made of booleans and has no gradient, so
# `save_for_backward` takes it without a second thought.

# %%
class MaskAbs(Function):
    """y = |x|, elementwise; saves one byte per element."""

    @staticmethod
    def forward(ctx, x):
        negative = x < 0                  # torch.bool: one byte per element
        ctx.save_for_backward(negative)
        return torch.where(negative, -x, x)

    @staticmethod
    def backward(ctx, grad_output):
        (negative,) = ctx.saved_tensors
        return torch.where(negative, -grad_output, grad_output)

x = torch.randn(1000, requires_grad=True)
print("Abs     keeps", bytes_kept(Abs.apply, x), "bytes for 1000 elements")
print("MaskAbs keeps", bytes_kept(MaskAbs.apply, x), "bytes for 1000 elements")

# %% [markdown]
# The picture shows the same measurement for our two Functions and some of PyTorch's own operations, in bytes per element.
# Formulas put together from several operations are the expensive ones: each step saves what *it* needs.

# %%
measured = {
    "x / (1 + exp(-x))": lambda x: x / (1 + torch.exp(-x)),
    "x * sigmoid(x)": lambda x: x * torch.sigmoid(x),
    "F.silu(x)": F.silu,
    "torch.relu(x)": torch.relu,
    "Abs (above)": Abs.apply,
    "MaskAbs (above)": MaskAbs.apply,
    "torch.where(x > 0, x, 0)": lambda x: torch.where(x > 0, x, 0.0),
}
costs = {name: bytes_kept(f, x) / x.numel() for name, f in measured.items()}

fig, ax = figure(width=7.5, height=3, alt="Bytes kept per element: " + ", ".join(
    f"{name} {cost:.0f}" for name, cost in costs.items()))
colors = [COLORS[1] if cost > 4 else COLORS[0] if cost > 1 else COLORS[2] for cost in costs.values()]
bars = ax.barh(list(costs), list(costs.values()), color=colors, height=0.65)
ax.bar_label(bars, fmt="%.0f", padding=4, color=TEXT)
ax.set(xlabel="bytes kept per float32 element until backward", xlim=(0, 13.5), xticks=[0, 4, 8, 12])
ax.invert_yaxis()
ax.tick_params(axis="y", length=0)
for label in ax.get_yticklabels():
    label.set_family("monospace")
fig.show()

# %% [markdown]
# The top two and `F.silu` compute the same function, for 12, 8 and 4 bytes. We come back to that.
#
# So is a mask always the better choice, and does `torch.relu`, which keeps its output, waste three bytes an element?
# Measure in a place where ReLU really lives, between two linear layers. `torch.where(x > 0, x, 0)` plays the one with the
# mask.
#
# **Predict, then run.** How many bytes an element does each activation add to what the two layers keep anyway?

# %%
first, second = torch.nn.Linear(256, 256), torch.nn.Linear(256, 256)
batch = torch.randn(64, 256)

def extra_bytes(act, use):
    """Bytes per element of the hidden layer that `act` adds to the network `use`."""
    return (bytes_kept(use(act), batch) - bytes_kept(use(lambda x: x), batch)) / batch.numel()

places = {
    "between two layers  ": lambda act: lambda x: second(act(first(x))),
    "in a residual branch": lambda act: lambda x: second(x + act(first(x))),
}
keeps_y, keeps_mask = torch.relu, measured["torch.where(x > 0, x, 0)"]
for place, use in places.items():
    print(place, " keeps y:", extra_bytes(keeps_y, use), "  keeps a mask:", extra_bytes(keeps_mask, use))

# %% [markdown]
# Between two layers, keeping the output costs *nothing*: the next linear layer keeps its input anyway, and that is the very
# same memory. There the mask is the one byte too much. In the residual branch nobody else keeps $y$, and the mask wins
# 1 to 4.
#
# **The rule:** save what is alive anyway, if there is such a thing; otherwise the smallest thing that answers backward's
# question. And measure.
#
# ### Exercise `relu_mask` ★★☆
#
# Write `MaskReLU` for the second case: the same operation as `MyReLU`, on a budget.
#
# Right means:
# - the same values and gradients as in `relu` (and again NaN in, NaN out);
# - **at most 1 byte per element** is kept for backward, whatever the dtype of $x$: neither $x$ nor $y$, on no detour.

# %% nbgrader={"grade": false, "grade_id": "relu_mask", "locked": false, "schema_version": 3, "solution": true}
class MaskReLU(Function):
    """y = max(x, 0), elementwise; at most one byte per element is kept for backward."""

    @staticmethod
    def forward(ctx, x):
        # TODO relu_mask: keep the answer, not the tensor it comes from
        ### BEGIN SOLUTION
        ctx.save_for_backward(x > 0)
        return x.clamp(min=0)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO relu_mask: as before, from what you kept
        ### BEGIN SOLUTION
        (positive,) = ctx.saved_tensors
        return grad_output * positive
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_relu_mask", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("relu_mask", MaskReLU)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("relu_mask", MaskReLU)
### END HIDDEN TESTS

# %% [markdown]
# ## Computing again instead of saving
#
# A smooth operation has no pieces to remember, but often a formula of several steps, and each step saves something. Written
# as one Function it can save the input alone and **recompute** the rest in backward: a little arithmetic for a lot of memory.
#
# The example is *softplus*, a ReLU without the kink:
#
# $$y = \log(1 + e^{x}), \qquad \frac{dy}{dx} = \frac{e^{x}}{1 + e^{x}} = \sigma(x).$$
#
# **Predict, then run.** The formulas as they stand, at $x = 1$ and $x = 1000$. Both true results are easy to say: for
# large $x$ softplus is as good as $x$, its slope 1. What does the computer say?

# %%
x = torch.tensor([1.0, 1000.0])
print("value", torch.log(1 + torch.exp(x)).tolist())
print("slope", (torch.exp(x) / (1 + torch.exp(x))).tolist())

# %% [markdown]
# $e^{1000}$ is too large for a floating-point number and becomes `inf`; `inf / inf` is NaN, and one NaN in a gradient
# ruins every weight below it. Mathematically equal is not numerically equal. The way out is always the same: functions
# that PyTorch computes without a huge intermediate (`torch.sigmoid`, `torch.tanh`, `torch.logaddexp`), and
# derivatives written *by means of them*. For the sigmoid $s = \sigma(x)$ that is
#
# $$\sigma'(x) = s\,(1 - s),$$
#
# which is finite for every $x$, while $e^{-x} / (1 + e^{-x})^2$, the same thing on paper, is NaN at $x = -1000$.

# %%
class Softplus(Function):
    """y = log(1 + exp(x)), elementwise; saves x alone, finite for every x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.logaddexp(x, torch.zeros_like(x))  # log(exp(x) + exp(0))

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * torch.sigmoid(x)           # computed again, not saved

x = torch.tensor([-1000.0, 1.0, 1000.0], requires_grad=True)
y = Softplus.apply(x)
y.sum().backward()
print("value", y.tolist(), "slope", x.grad.tolist())

# %% [markdown]
# Two remarks before it is your turn.
#
# - Saving the sigmoid as well would cost another 4 bytes and has a trap besides: it is neither input nor output of the
#   Function, so autograd sees a constant in it, and second derivatives go silently wrong. (A mask *is* constant. That is
#   why it was harmless.) Lesson 04 shows it happen.
# - For whole blocks of a network `torch.utils.checkpoint` recomputes for you and is usually the better fit. A Function is
#   for a single operation whose derivative you know.
#
# Swish (PyTorch calls it `silu`) is $x$ times its own sigmoid. The picture shows it with its slope, which dips below 0 and
# rises above 1: no mask will do here.

# %%
xs = torch.linspace(-8, 8, 400, requires_grad=True)
(slope,) = torch.autograd.grad(F.silu(xs).sum(), xs)

fig, ax = figure(width=7, height=2.8, alt=(
    "swish falls from 0 to -0.28 near x = -1.3 and then rises like x. Its slope starts at 0, "
    "dips below it, rises above 1 near x = 2.4 and settles at 1."))
ax.axhline(0, color=TEXT, linewidth=0.5)
ax.axhline(1, color=TEXT, linewidth=0.5, linestyle=":")
ax.plot(xs.detach(), F.silu(xs).detach(), linewidth=2.5, label="swish(x)")
ax.plot(xs.detach(), slope, linewidth=2.5, label="its slope")
ax.set(xlabel="x", ylim=(-0.6, 3), yticks=[0, 1, 2, 3])
ax.legend(loc="upper left")
fig.show()

# %% [markdown]
# ### Exercise `swish` ★★★
#
# Write `Swish`: $y = x \cdot \sigma(x)$. You need the product rule, $(uv)' = u'v + uv'$, and $\sigma'$ from above.
#
# Right means:
# - forward and backward are finite and right for $|x|$ up to $10^4$;
# - **$x$ is the only tensor kept** for backward: the rest is computed again;
# - the derivative is written by you: no call of autograd inside backward, and no built-in backward.

# %% nbgrader={"grade": false, "grade_id": "swish", "locked": false, "schema_version": 3, "solution": true}
class Swish(Function):
    """y = x * sigmoid(x), elementwise; saves x alone."""

    @staticmethod
    def forward(ctx, x):
        # TODO swish: keep x, return the value
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO swish: compute the sigmoid again, then the product rule
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_swish", "locked": true, "points": 5, "schema_version": 3, "solution": false}
check("swish", Swish)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("swish", Swish)
### END HIDDEN TESTS

# %% [markdown]
# ## Recap
#
# - A piecewise backward is *upstream gradient × slope of the piece*; forward saves what tells the pieces apart.
# - At a kink every slope between the two sides is legal, and PyTorch's own operations choose differently.
# - `grad_output` is read-only: other branches hold the same tensor, and after `.sum()` it is one number with stride 0.
# - Save what is alive anyway, else the smallest answer: output, mask, or the input and recompute. Measure it.
# - Write derivatives by means of functions that cannot overflow.

# %% [markdown] tags=["recall"]
# ## Do you still know?
#
# Answer before you unfold. From lesson 01:
#
# <details><summary>1. forward takes a tensor, a float and a bool. How many values does backward return, and which?</summary>
#
# Three, in the order of forward's inputs: the gradient for the tensor, and `None` for the float and the bool.
#
# </details>
#
# <details><summary>2. Why is a test with an all-ones upstream gradient (a plain <code>.sum()</code>) a weak test?</summary>
#
# With $g = 1$ a backward that forgets $g$ looks right, and for softmax even zeros do. Use a random upstream gradient.
#
# </details>
#
# <details><summary>3. What is wrong with <code>ctx.x = x</code>, if the gradients come out right?</summary>
#
# Autograd cannot notice when somebody changes `x` in place afterwards: the gradient is then silently wrong. With an
# output it is a reference cycle on top, and memory that is not freed in time.
#
# </details>

# %%
progress()

# %% [markdown]
# Next: **03_straight_through**, where the gradient is wrong on purpose.
#
# ## Further reading
#
# - [Gradients for non-differentiable functions](https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions):
#   the rule PyTorch states for kinks
# - [Hooks for saved tensors](https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors): what we counted with
# - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html): the reference for everything on `ctx`
# - Bertoin, Bolte, Gerchinovitz and Pauwels, [Numerical influence of ReLU'(0) on backpropagation](https://arxiv.org/abs/2106.12915):
#   how much that one number matters in real training
# - Ramachandran, Zoph and Le, [Searching for activation functions](https://arxiv.org/abs/1710.05941): where swish comes from
