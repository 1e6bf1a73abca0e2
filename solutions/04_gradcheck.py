# ---
# jupyter:
#   course:
#     goals:
#     - measure a gradient from function values alone, and know how exact that is
#     - build a gradient check, and use torch.autograd.gradcheck well
#     - choose inputs on which a wrong backward gives itself away
#     - know what gradcheck cannot see, and test that separately
#     - read a bug off two Jacobians, and repair it
#     minutes: 80
#     prerequisites:
#     - 01_contract
#     - 02_relu
#     - 03_straight_through
#     title: Trust, but verify
# ---

# %% [markdown]
# # 04 · Trust, but verify
#
# By now you have written a dozen backwards, and each time a check told you whether it was right. Outside this course
# there is no such check. In this lesson you build one, learn to feed it well, and learn where it is blind.
#
# **Time** about 80 minutes; the second half (from *What gradcheck cannot see*) makes a good second sitting.
# **Before this:** lessons 01 to 03.

# %%
import torch
import torch.nn.functional as F
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck

from grader import check, explain, hint, progress, restore, solution
from grader.learning.plots import COLORS, TEXT, figure, heat
from grader.learning.track import track

torch.set_num_threads(1)  # tiny tensors: more threads would only wait for each other

# %%
progress("04_gradcheck")  # where you stand in this lesson; it follows your checks

# %% [markdown]
# ## The loss went down, so it must be right?
#
# Here are two sigmoids. The derivative of the sigmoid $y = \sigma(x)$ is $y\,(1 - y)$. One of the two lost a factor on
# the way. Can you spot it?

# %%
class SigmoidA(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y)

class SigmoidB(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y * (1 - y)

# %% [markdown]
# **Predict, then run.** A small network with one of them as its activation learns $\sin 2x$. How do the two training
# curves differ?

# %%
def train(activation, steps=400):
    """The loss after every step of a 1-32-1 network, same start for every activation."""
    torch.manual_seed(0)
    first, second = nn.Linear(1, 32), nn.Linear(32, 1)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.02)
    x = torch.linspace(-3, 3, 64)[:, None]
    losses = []
    for _ in track(range(steps), "training"):
        loss = F.mse_loss(second(activation(first(x))), torch.sin(2 * x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses

curves = {"SigmoidA": train(SigmoidA.apply), "SigmoidB": train(SigmoidB.apply)}
ends = ", ".join(f"{name} ends at {losses[-1]:.3f}" for name, losses in curves.items())
fig, ax = figure(width=6.5, height=2.6, alt=f"Two losses that fall over the steps: {ends}")
for name, losses in curves.items():
    ax.plot(losses, label=f"{name}, ends at {losses[-1]:.3f}")
ax.set(xlabel="step", ylabel="loss", ylim=(0, None))
ax.legend()
fig.show()

# %% [markdown]
# The picture shows two losses that both fall from 0.5 to about 0.02. `SigmoidA`, which lost the factor $y$, takes a
# bumpier road, and even ends a little lower.
#
# A wrong gradient need not stop training. It points roughly downhill, and the optimizer forgives a lot. Seen alone, the
# blue curve would make you try a smaller learning rate, not read your backward. **A falling loss is no evidence for a
# gradient.** The next cell is, and it takes a few milliseconds:

# %%
x = torch.randn(5, dtype=torch.float64, requires_grad=True)
print("SigmoidA:", gradcheck(SigmoidA.apply, (x,), raise_exception=False))
print("SigmoidB:", gradcheck(SigmoidB.apply, (x,), raise_exception=False))

# %% [markdown]
# ## A slope from two function values
#
# How can anybody know what the gradient should be? By asking the *forward*. The derivative is the slope of the graph, and
# a slope can be measured: step a little to the right, a little to the left, divide.
#
# $$f'(x) \approx \frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\,\varepsilon} \qquad\text{(central difference)}$$
#
# Why both sides? Write down Taylor's series for $f(x \pm \varepsilon)$ and subtract. All even terms drop out:
#
# $$\frac{f(x + \varepsilon) - f(x - \varepsilon)}{2\,\varepsilon} = f'(x) + \underbrace{\tfrac{1}{6} f'''(x)\,\varepsilon^2 + \dots}_{\text{the step is too long}}$$
#
# The one-sided $\bigl(f(x + \varepsilon) - f(x)\bigr)/\varepsilon$ keeps the term $\tfrac12 f''(x)\,\varepsilon$: ten times
# smaller steps make it ten times better, the central one a hundred times. For a parabola the central difference is
# even exact.
#
# So the smaller the step, the better? Not on a computer. $f(x + \varepsilon)$ and $f(x - \varepsilon)$ are each rounded to
# a relative error $u$ ($10^{-16}$ in float64, $6 \cdot 10^{-8}$ in float32). Their difference is tiny, the rounding is not,
# and we divide it by $2\varepsilon$:
#
# $$\text{error} \;\approx\; \tfrac16 \lvert f'''\rvert\,\varepsilon^2 \;+\; \frac{u\,\lvert f\rvert}{\varepsilon}$$
#
# The first term wants a small step, the second a large one. The best step is near $\sqrt[3]{u}$.
#
# **Predict, then run.** Work out $\sqrt[3]{u}$ for both precisions, and the error there. How many digits of a slope can
# you get in float32? (Thin lines: the one-sided slope.)

# %%
from grader.learning.explorers import explore_differences

explore_differences()

# %% [markdown]
# Now move the step. On the right the function is magnified so that ε is one unit: at which step do you first see stairs in
# float32, and what has the error done by then?
#
# Each curve in the picture is a V: to the right the step is too long, to the left rounding takes over. In float64 the
# central difference reaches ten digits or more near $\varepsilon = 10^{-5}$, and nearly as many at $10^{-6}$. In float32
# the tip of the V lies near $10^{-2}$ with four or five digits, and at $10^{-6}$ two are left at best: the measured slope
# is off by about a percent.
#
# That is where two customs come from: **gradients are checked in float64, with $\varepsilon = 10^{-6}$.**
#
# ## From a slope to a vector-Jacobian product
#
# A function of many numbers has one slope per number. Move one element, leave the others where they are:

# %%
def numerical_gradient(f, x, eps=1e-6):
    """The gradient of f at the vector x by central differences; the output of f is a single number."""
    slopes = torch.zeros_like(x)
    for j in range(len(x)):
        step = torch.zeros_like(x)
        step[j] = eps
        slopes[j] = (f(x + step) - f(x - step)) / (2 * eps)
    return slopes

x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
print(numerical_gradient(lambda x: (x**3).sum(), x))
print(3 * x**2)

# %% [markdown]
# Note what is *not* done here: `x` itself is never written to. Each point at which `f` is asked is a new tensor, `x + step`.
# So there is nothing to undo afterwards, and the caller's `x` keeps every bit.
#
# A backward answers a slightly different question: given an upstream gradient $g$ with one entry per *output*, what is
# $g^\top J$? You know this product from lesson 01. Its entry $j$ is
#
# $$(g^\top J)_j = \sum_i g_i\,\frac{\partial y_i}{\partial x_j} \approx \sum_i g_i\, \frac{f(x + \varepsilon e_j)_i - f(x - \varepsilon e_j)_i}{2\,\varepsilon}.$$
#
# In words: move input $j$, see how every output moves, weight the movements with $g$, add up. $e_j$ is a step of 1 in
# element $j$ alone.

# %% [markdown]
# ### Exercise `numerical_vjp`: a VJP from function values alone ★★☆
#
# Write it for an $f$ with any number of outputs, and an $x$ of any shape.
#
# Right means:
# - `f` maps a float64 tensor to a float64 tensor; `x` may have any shape (0-d too, and not contiguous), `g` has the
#   shape of `f(x)`, which need not be that of `x`; the answer has the shape and dtype of `x`;
# - central differences with just the `eps` you are given, from values of `f` only, no autograd;
# - the caller's `x` is left as it was, to the last bit.
#
# Stuck? `hint("numerical_vjp")`.

# %% nbgrader={"grade": false, "grade_id": "numerical_vjp", "locked": false, "schema_version": 3, "solution": true}
def numerical_vjp(f, x, g, eps):
    """g^T J of f at x: entry j sums g * (f(x + eps e_j) - f(x - eps e_j)) / (2 eps) over the outputs."""
    # TODO numerical_vjp: one step for each element of x, in a tensor of x's shape
    ### BEGIN SOLUTION
    result = torch.zeros(x.numel(), dtype=x.dtype)
    for j in range(x.numel()):
        step = torch.zeros(x.numel(), dtype=x.dtype)
        step[j] = eps
        step = step.reshape(x.shape)
        result[j] = ((f(x + step) - f(x - step)) * g).sum() / (2 * eps)
    return result.reshape(x.shape)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_numerical_vjp", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("numerical_vjp", numerical_vjp)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("numerical_vjp", numerical_vjp)
### END HIDDEN TESTS

# %% [markdown]
# ## Two answers, one question
#
# Now there are two ways to the same numbers: the forward, measured; and the backward, asked. If they differ, one of them
# is wrong, and the measurement has no opinion of its own.
#
# Asking the backward is one call. For $x$ a leaf that requires grad, and $y$ computed from it,
#
# ```python
# (grad,) = torch.autograd.grad(y, x, g)      # g^T J, as the backward says
# ```
#
# `torch.autograd.grad` takes a list of inputs too and returns one gradient for each. It leaves every `.grad` alone.
#
# Which $g$? **Predict, then run:** the backward below is nonsense. It returns zeros, always. With which of the three
# upstream gradients would you notice?

# %%
class LazySoftmax(Function):
    """The right softmax, with a backward that returns zeros."""

    @staticmethod
    def forward(ctx, x):
        return torch.softmax(x, -1)

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g)

x = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64, requires_grad=True)
for name, g in {
    "ones": torch.ones(3, dtype=torch.float64),
    "one output only": torch.tensor([0.0, 1.0, 0.0], dtype=torch.float64),
    "random": torch.tensor([-1.2, 0.4, 0.9], dtype=torch.float64),
}.items():
    measured = numerical_gradient(lambda z: (torch.softmax(z, -1) * g).sum(), x.detach())
    (asked,) = torch.autograd.grad(LazySoftmax.apply(x), x, g)
    print(f"{name:16} measured {[round(v, 4) for v in measured.tolist()]}   asked {asked.tolist()}")

# %% [markdown]
# With ones (that is what `y.sum().backward()` feeds) the zeros are *right*: the outputs of a softmax always add up to 1,
# so their sum has no slope. A test with ones proves next to nothing. One output at a time is fine if you go through all
# of them, and so is one random $g$: an error would have to cancel by accident in every element.
#
# The rest is bookkeeping: one gradient per input, every element of each, and for input $k$ only input $k$ moves.
#
# How close is close enough? The picture of the V's says: float64 at $\varepsilon = 10^{-6}$ gives errors around $10^{-9}$, a
# wrong formula gives errors of the size of the gradient. Anything between tells the two apart; $10^{-5}$ is the custom.

# %% [markdown]
# ### Exercise `my_gradcheck`: your own gradcheck ★★★
#
# Write `my_gradcheck(fn, inputs)`. It is scored on Functions you do not see, right ones and wrong ones, and must tell
# them apart: wrong by a factor, by a sign, by one percent, in one single element, in the second input only, or in a way
# that ones as the upstream gradient do not show.
#
# Right means:
# - `fn` is called as `fn(*inputs)` and returns one tensor; `inputs` is a tuple of float64 tensors of any shape,
#   contiguous or not, with or without `requires_grad`;
# - returns the Python bool `True` if every element of every gradient agrees within `atol` with central differences of
#   step `eps`, else `False`. It does not raise for a wrong gradient;
# - a gradient of NaN agrees with nothing, so the answer is `False`. Every comparison with NaN is false: mind which way
#   round you ask;
# - the caller's tensors are left as they were: values, `requires_grad` and `.grad`;
# - `torch.autograd.grad` yes, `torch.autograd.gradcheck` no.
#
# You may call your `numerical_vjp`, or write the loop again: then one mistake does not cost you twice.

# %% nbgrader={"grade": false, "grade_id": "my_gradcheck", "locked": false, "schema_version": 3, "solution": true}
def my_gradcheck(fn, inputs, eps=1e-6, atol=1e-5):
    """True if the backward of fn agrees with central differences, for all elements of all inputs."""
    # TODO my_gradcheck: ask the backward once for a random g, then measure element by element
    ### BEGIN SOLUTION
    xs = [x.detach().clone().requires_grad_() for x in inputs]
    y = fn(*xs)
    g = torch.randn(y.shape, dtype=y.dtype)
    for k, grad in enumerate(torch.autograd.grad(y, xs, g)):
        for j in range(grad.numel()):
            step = torch.zeros(grad.numel(), dtype=grad.dtype)
            step[j] = eps
            step = step.reshape(grad.shape)
            with torch.no_grad():
                up = fn(*[x + step if i == k else x for i, x in enumerate(xs)])
                down = fn(*[x - step if i == k else x for i, x in enumerate(xs)])
            slope = ((up - down) * g).sum() / (2 * eps)
            if not abs(slope - grad.flatten()[j]) <= atol:
                return False
    return True
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_my_gradcheck", "locked": true, "points": 5, "schema_version": 3, "solution": false}
check("my_gradcheck", my_gradcheck)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("my_gradcheck", my_gradcheck)
### END HIDDEN TESTS

# %% [markdown]
# ## The one that ships with PyTorch
#
# From now on use the real one. It does what yours does, for every output in turn instead of a random mixture, and reports
# what it found:
#
# ```python
# torch.autograd.gradcheck(fn, inputs, eps=1e-6, atol=1e-5, rtol=1e-3)
# ```
#
# - At least one input must require grad; inputs that do not are taken as constants. Those that do should be float64:
#   for float32 you get a warning, and most likely a failure that says nothing about your backward.
# - It passes where $\lvert a - n\rvert \le \text{atol} + \text{rtol} \cdot \lvert n\rvert$ for all entries.
# - It returns `True`, or raises with both Jacobians in the message. `raise_exception=False` makes that a `False`.
#
# This is how it tells:

# %%
try:
    x = torch.tensor([-1.0, 0.0, 1.0], dtype=torch.float64, requires_grad=True)
    gradcheck(SigmoidA.apply, (x,))
except RuntimeError as error:
    print(error)

# %% [markdown]
# Two matrices, and no word about what is wrong. You will learn to read them further down. First the more important
# half: what to feed it.
#
# ## Where to look: kinks
#
# ReLU is right, and a check says it is wrong. All it takes is an unlucky input:

# %%
for value in (0.3, 3e-7, 0.0):
    x = torch.tensor([value], dtype=torch.float64, requires_grad=True)
    measured = numerical_gradient(torch.relu, x.detach()).item()
    (asked,) = torch.autograd.grad(torch.relu(x).sum(), x)
    print(f"x = {value:g}: measured {measured:.2f}, asked {asked.item():.0f}, gradcheck says",
          gradcheck(torch.relu, (x,), raise_exception=False))

# %% [markdown]
# Put the kink under the microscope, with a field of view of a few $\varepsilon$:

# %%
fig, (left, right) = figure(columns=2, width=9, height=3, alt=(
    "Left: ReLU near 0 and the chord around x = 0.3 eps, which starts left of the kink: slope 0.65, "
    "not 1. Right: within eps of the kink the measured slope is a ramp from 0 to 1, the backward's a step."))
eps, at = 1.0, 0.3   # in units of 1e-6
z = torch.linspace(-2, 2, 201)
left.plot(z, z.relu(), color=COLORS[0], linewidth=3)
ends = torch.tensor([at - eps, at + eps])
left.plot(ends, ends.relu(), "o-", color=COLORS[1], linewidth=2)
left.plot(at, at, "s", color=COLORS[2], markersize=7)
left.text(at - 0.1, at + 0.12, "x", color=COLORS[2], ha="right", weight="bold")
left.text(-1.9, 0.95, "measured slope 0.65", color=COLORS[1])
left.text(0.95, 0.62, "true slope 1", color=COLORS[0])
left.set(title="The chord reaches over the kink", xlabel="x in units of ε = 1e-6")

slope = ((z + eps).relu() - (z - eps).relu()) / (2 * eps)
right.plot(z, slope, color=COLORS[1], linewidth=2, label="measured")
right.plot(z, (z > 0).float(), "--", color=COLORS[0], linewidth=2, label="backward")
right.axvspan(-1, 1, color=TEXT, alpha=0.15, linewidth=0)
right.set(title="Within ε of the kink the two disagree", xlabel="x in units of ε = 1e-6")
right.set_yticks([0, 0.5, 1])
right.legend(loc="upper left")
fig.show()

# %% [markdown]
# The picture shows, on the left, ReLU magnified: from $x = 0.3\,\varepsilon$ the chord starts left of the kink and ends
# right of it, so its slope, 0.65, belongs to neither side. On the right: within $\varepsilon$ of the kink the measured slope
# slides from 0 to 1 while the backward jumps. Outside the shaded strip both agree.
#
# So test inputs stay away from kinks, further than $\varepsilon$. That is easy to get wrong in a very ordinary way:
# `torch.arange(-3., 4.)` contains 0, and a clamp at ±1 has kinks at −1 and 1.
#
# ## What good test inputs have in common
#
# A check can only find what its inputs show. **Predict, then run:** all four backwards below are wrong. Each is
# given to gradcheck with an input somebody might well have picked. What will it say?

# %%
def wired(forward, vjp):
    """A Function from a forward and a VJP, both plain functions of (g and) the inputs."""

    class Wired(Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(*inputs)

        @staticmethod
        def backward(ctx, g):
            return vjp(g, *ctx.saved_tensors)

    return Wired.apply

def says(fn, *inputs):
    return gradcheck(fn, tuple(x.double().requires_grad_() for x in inputs), raise_exception=False)

identity_relu = wired(torch.relu, lambda g, x: g)
half_clamp = wired(lambda x: x.clamp(-1, 1), lambda g, x: g * (x < 1))
no_transpose = wired(torch.matmul, lambda g, A, B: (g @ B, A.T @ g))
mean_mul = wired(torch.mul, lambda g, a, b: (g * b, (g * a).mean(0) if b.dim() == 1 else g * a))

some, symmetric = torch.tensor([-0.5, 0.5, 2.0]), torch.tensor([[2.0, 1.0], [1.0, 3.0]])
a, b = torch.randn(2, 3, 4)
print("ReLU that passes all of g, on positive x:  ", says(identity_relu, torch.rand(4) + 0.1))
print("clamp that forgets -1, on [-0.5, 0.5, 2]:  ", says(half_clamp, some))
print("A @ B, no transpose, on a symmetric B:     ", says(no_transpose, a[:2, :2], symmetric))
print("a * b, mean for sum, on two (3, 4) factors:", says(mean_mul, a, b))

# %% [markdown]
# Four times `True`. Nothing is wrong with gradcheck; the inputs did not visit the place where the backward is wrong.
# What good inputs have in common:
#
# - **Every piece is visited.** Numbers on both sides of each kink, of both signs, and none within a hundredth of a kink.
# - **All sizes differ.** With square matrices every mix-up of sizes runs without complaint; symmetric ones
#   ($B = B^\top$) or an identity even give the right numbers to a missing transpose.
# - **What can be broadcast, is.** Broadcasting does two things: it *adds* leading dimensions, as in $(3, 4) \times (4,)$,
#   and it *stretches* dimensions of size 1, as in $(3, 4) \times (3, 1)$. A backward can be right for one and wrong for
#   the other. And one shape can be broadcast both ways at once.
# - **float64, finite, and few.** A dozen elements are plenty; each costs two evaluations.

# %% [markdown]
# ### Exercise `choose_inputs`: inputs that give a wrong backward away ★★☆
#
# Return tensors that expose wrong versions of four operations: `"relu"` and `"clamp"` (bounds −1 and 1) take one
# tensor, `"mul"` (with broadcasting) and `"matmul"` (two matrices) take two.
#
# Each answer is put before half a dozen wrong backwards of its operation, those of the cell above among them, with random
# upstream gradients. Every one of them must give a number or a shape on your tensors that differs from the right one.
#
# Right means:
# - a tuple, `(x,)` or `(a, b)`, of finite float64 tensors with at most 200 elements each;
# - no element closer than 0.01 to a kink; for `"matmul"` the three sizes all differ;
# - no wrong version gets away. The check names one that did.

# %% nbgrader={"grade": false, "grade_id": "choose_inputs", "locked": false, "schema_version": 3, "solution": true}
def choose_inputs(op):
    """A tuple of float64 tensors on which wrong backwards of op show: relu, clamp, mul or matmul."""
    # TODO choose_inputs: a tuple of tensors for each of the four
    ### BEGIN SOLUTION
    pieces = torch.tensor([-2.5, -1.4, -0.6, 0.3, 0.8, 1.7], dtype=torch.float64)
    row = torch.tensor([1.2, -0.4, 2.1, 0.7], dtype=torch.float64)
    if op in ("relu", "clamp"):
        return (pieces,)
    if op == "mul":
        return pieces[:3].reshape(3, 1), row
    return pieces.reshape(2, 3), torch.outer(pieces[2:5], row)
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_choose_inputs", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("choose_inputs", choose_inputs)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("choose_inputs", choose_inputs)
### END HIDDEN TESTS

# %% [markdown]
# ## What gradcheck cannot see
#
# You now have good inputs. Here are five backwards with real bugs. **Predict, then run:** how many does gradcheck find?

# %%
def clipped(g, x):            # gradient clipping, in the wrong place
    return 2 * x * g.clamp(-1, 1)

def scratch(g, x):            # uses grad_output as its scratch pad
    return g.mul_(2 * x)

def raw_storage(g, x):        # reads g's memory as if it lay there row by row
    flat = torch.as_strided(g, (g.numel(),), (1,))
    return (2 * x).flatten().mul(flat).reshape(x.shape)

def single(g, x):             # passes through float32 on the way
    return (2 * x.float() * g.float()).to(x.dtype)

class OnTheClass(Function):
    """Keeps its input on the class."""

    @staticmethod
    def forward(ctx, x):
        OnTheClass.x = x.detach()
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * OnTheClass.x * g

squares = {f.__name__: wired(torch.square, f) for f in (clipped, scratch, raw_storage, single)}
squares["OnTheClass"] = OnTheClass.apply
for name, fn in squares.items():
    print(f"{name:12} gradcheck: {says(fn, torch.randn(2, 3))}")

# %% [markdown]
# None. Each of them is wrong all the same, as soon as it leaves the narrow path gradcheck walks: unit upstream
# gradients, freshly made and contiguous; one call, one backward; a generous tolerance.

# %%
x = torch.tensor([[1.0, -2.0, 3.0], [0.5, 2.5, -1.5]], dtype=torch.float64, requires_grad=True)

def grad(name, g):
    return torch.autograd.grad(squares[name](x), x, g)[0]

five = torch.full((2, 3), 5.0, dtype=torch.float64)
right = (2 * x * five).detach()
print("clipped, g all 5: ", grad("clipped", five)[0].tolist(), "should be", right[0].tolist())

print("scratch, g before:", five[0].tolist(), end=" ")
grad("scratch", five)
print("and after:", five[0].tolist())

transposed = torch.arange(1.0, 7.0, dtype=torch.float64).reshape(3, 2).T
right = (2 * x * transposed).detach()
print("raw_storage:", grad("raw_storage", transposed)[0].tolist(), "should be", right[0].tolist())

error = (grad("single", transposed * 0.1) / (right * 0.1) - 1).abs().max().item()
print(f"single: relative error {error:.0e}, where 1e-16 is normal")

y, _ = OnTheClass.apply(x), OnTheClass.apply(torch.zeros_like(x))
(first,) = torch.autograd.grad(y.sum(), x)
print("OnTheClass, two calls, then the first backward:", first[0].tolist())

# %% [markdown]
# | what goes wrong | why gradcheck does not notice | what to test instead |
# |---|---|---|
# | backward not linear in $g$ (clip, sign, norm) | feeds unit vectors only, and $\mathrm{clamp}(e_i) = e_i$ | large, negative and mixed $g$: next exercise |
# | writes into $g$ or an input | looks at values returned, not at what was overwritten | compare $g$ before and after |
# | assumes a memory layout | its $g$ is contiguous | a transposed and an expanded $g$ |
# | state outside `ctx` | one forward, then its backward | two forwards, then the first backward |
# | float32 on the way | a tolerance of $10^{-3}$ relative | compare with a formula to $10^{-12}$ |
# | second derivative | does not take one | `gradgradcheck`: end of this lesson |
# | the value at a kink | you kept away, rightly | decide it, and assert it |
# | a forward that is wrong | measures *your* forward | compare with a reference |
#
# (And from lesson 03: for a straight-through estimator gradcheck *must* say `False`, since its gradient is not the slope of
# its forward on purpose.)
#
# ## Linear in the upstream gradient
#
# The first row deserves its own test, because this bug travels well: for a straight-through sign (lesson 03) a widely
# copied article clips $g$ itself, `F.hardtanh(grad_output)`, where the window belongs on $x$.
#
# The answer $v(g) = g^\top J$ is a matrix product, so it is **linear** in $g$, whatever the function was. That is
#
# $$v(a\,g + b\,h) = a\,v(g) + b\,v(h) \qquad \text{for all numbers } a, b \text{ and all } g, h.$$
#
# You can test it without knowing $J$, the formula, or the right answer: three calls of the same backward, and one
# comparison with a tolerance. Each way to be non-linear needs its own kind of $g$ to show:
#
# - $\lvert g\rvert$, or "only positive $g$ pass", survives $a = 2$; a *negative* factor or a *sum* of different signs gives it away;
# - a clamp at 1 does nothing to $g = 0.3$, and a clamp at 100 nothing to $g = 30$: try *large* ones, into the thousands;
# - $g^2$ is exact on $g = 1$, $g/\lVert g\rVert$ on unit vectors: use general numbers.
#
# Note the limits: $9x^2 g$ for a cube is wrong and linear, and the straight-through $g$ is linear too. Linearity is a
# second leg to stand on, beside gradcheck, not instead of it.

# %% [markdown]
# ### Exercise `upstream_linear`: is the backward linear in g? ★★☆
#
# `apply` is a Function's `.apply` (or any function of one tensor). Say whether its backward at `x` is linear in the
# upstream gradient.
#
# Right means:
# - a Python bool: `True` for every backward that is linear in $g$, be its gradient right or not; `False` for clamps
#   (bounds up to 100), absolute values, signs, squares, norms, one-sided $g$, and for a backward that ignores $g$;
# - the output may have another shape than `x` (larger, smaller, 0-d); `x` is float64 and is left as it was;
# - rounding is not mistaken for a bug.
#
# Of the tools you need one is new: `torch.autograd.grad(y, x, g, retain_graph=True)` keeps the graph, so that you can ask
# the same backward again.

# %% nbgrader={"grade": false, "grade_id": "upstream_linear", "locked": false, "schema_version": 3, "solution": true}
def upstream_linear(apply, x):
    """True if v(a g + b h) = a v(g) + b v(h) for the backward v of apply at x."""
    # TODO upstream_linear: try several g and h of very different sizes
    ### BEGIN SOLUTION
    x = x.detach().clone().requires_grad_()
    y = apply(x)

    def v(g):
        return torch.autograd.grad(y, x, g, retain_graph=True)[0]

    for size in (1.0, 1e4):
        for _ in range(8):
            g, h = size * torch.randn_like(y), size * torch.randn_like(y)
            if not torch.allclose(v(2 * g - 3 * h), 2 * v(g) - 3 * v(h), rtol=1e-6, atol=1e-6):
                return False
    return True
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_upstream_linear", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("upstream_linear", upstream_linear)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("upstream_linear", upstream_linear)
### END HIDDEN TESTS

# %% [markdown]
# ## Reading two Jacobians
#
# gradcheck said no. What now? Look at its two matrices as pictures: the numerical Jacobian $N$, measured from the
# forward, and the analytic one $A$, asked from the backward. $J_{ij} = \partial y_i / \partial x_j$: one row per output.
#
# $N$ comes column by column, since moving input $j$ shows column $j$. $A$ comes row by row: the upstream gradient $e_i$,
# a 1 for output $i$ and 0 elsewhere, gives $e_i^\top J$, which is row $i$.
#
# Go through it once, step by step, with *Next*. **Predict, then step:** after two columns of the first Function you can say
# what the last two will be, and what $A - N$ will show. Then choose another wrong one, or your own:
# `explore_gradcheck(FixedTanh.apply)`.

# %%
from grader.learning.explorers import explore_gradcheck

explore_gradcheck()

# %% [markdown]
# The same as code, and drawn at once for three classic mistakes:

# %%
def numerical_jacobian(f, x, eps=1e-6):
    steps = eps * torch.eye(x.numel(), dtype=x.dtype)
    moves = [f(x + s.reshape(x.shape)) - f(x - s.reshape(x.shape)) for s in steps]
    return torch.stack([m.flatten() / (2 * eps) for m in moves], dim=1).detach()

def analytic_jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = []
    for unit in torch.eye(y.numel(), dtype=y.dtype):
        (row,) = torch.autograd.grad(y, x, unit.reshape(y.shape), retain_graph=True)
        rows.append(row.flatten())
    return torch.stack(rows)

def side_by_side(f, x, title):
    N, A = numerical_jacobian(f, x), analytic_jacobian(f, x)
    fig, axes = figure(columns=3, width=9, height=2.9, alt=(
        f"{title}: three matrices side by side, measured, asked and their difference, "
        f"which is {(A - N).abs().max():.2g} at most."))
    limit = max(N.abs().max(), A.abs().max()).item()
    panels = {"N, measured": N, "A, asked": A, "A − N": A - N}
    for ax, (name, values) in zip(axes, panels.items(), strict=True):
        heat(ax, values.round(decimals=6), name, limit=limit)
    axes[0].set(ylabel="output i", xlabel="input j")
    fig.suptitle(title)
    fig.show()

# %%
x = torch.tensor([0.5, -1.0, 0.8, -0.3], dtype=torch.float64)
matrix = torch.tensor([[0.5, 1, 0, 0], [0, -1, 2, 0], [0.3, 0, 1, -1], [0, 0.5, 0, 2]]).double()
side_by_side(wired(torch.exp, lambda g, x: g * x.exp() / 2), x, "An exp that lost a factor")
side_by_side(wired(torch.exp, lambda g, x: x.exp()), x, "An exp that forgot the upstream gradient")
side_by_side(wired(lambda x: matrix @ x, lambda g, x: matrix @ g), x, "A linear map, not transposed")

# %% [markdown]
# What the three rows of pictures show:
#
# 1. The lost factor: the same pattern in $N$ and $A$, paler. Every entry is off by the same factor.
# 2. The forgotten $g$: $N$ is diagonal, as for every elementwise operation, but $A$ has the same full row four times. The
#    backward gives the same answer whatever unit vector it is handed. It is the answer that would be right for ones, and
#    $\mathbf 1^\top J$ is the vector of $N$'s *column sums*.
# 3. The missing transpose: $A$ is $N$ mirrored at the diagonal.
#
# These patterns can be told apart by a program. Here are six names with exact definitions, in the order in which to
# ask. "=" means equal up to the error of a finite difference: $10^{-5}$ is plenty, and nothing in the exercise is wrong by
# less than one percent.
#
# | name | definition | typical cause |
# |---|---|---|
# | `ok` | $A = N$ | |
# | `sign` | $A = -N$ | a minus lost |
# | `factor` | $A = c\,N$ with one number $c$, not 0, 1 or −1 | a constant lost, mean for sum |
# | `transpose` | $A = N^\top$, for square matrices | $W g$ for $W^\top g$ |
# | `no-upstream` | every row of $A$ is the vector of column sums of $N$ | $g$ not used, or only its sum |
# | `mask` | wherever $A \ne N$, one of the two is 0 | a condition missing, inverted, or one too many |
#
# The order matters, because the definitions overlap: a transposed triangular matrix, or an elementwise backward that
# forgets $g$, would also fit the last row. **The first name that fits is the answer.** In the exercise one always does.
#
# One step needs an idea: which $c$ should `factor` try? Not $A_{ij}/N_{ij}$, since most entries are $0/0$. Take the $c$
# that brings $c\,N$ closest to $A$, over all entries together: $c = \sum_{ij} A_{ij} N_{ij} \big/ \sum_{ij} N_{ij}^2$.

# %% [markdown]
# ### Exercise `name_the_bug`: name the bug from its two Jacobians ★★☆
#
# Right means: the name (a string, as in the table) of the first definition that fits `J_numeric` ($N$) and
# `J_analytic` ($A$), two float64 matrices of the same shape, not always square, with many zeros or none.

# %% nbgrader={"grade": false, "grade_id": "name_the_bug", "locked": false, "schema_version": 3, "solution": true}
def name_the_bug(J_numeric, J_analytic):
    """The first name of the table that fits: ok, sign, factor, transpose, no-upstream or mask."""
    # TODO name_the_bug: go through the table from top to bottom
    ### BEGIN SOLUTION
    N, A = J_numeric, J_analytic

    def same(P, Q):
        return P.shape == Q.shape and torch.allclose(P, Q, rtol=1e-5, atol=1e-5)

    c = (A * N).sum() / (N * N).sum()  # the multiple of N that comes closest to A
    if same(A, N):
        return "ok"
    if same(A, -N):
        return "sign"
    if abs(c) > 1e-3 and same(A, c * N):
        return "factor"
    if same(A, N.T):
        return "transpose"
    if same(A, N.sum(0).expand_as(N)):
        return "no-upstream"
    return "mask"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_name_the_bug", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("name_the_bug", name_the_bug)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("name_the_bug", name_the_bug)
### END HIDDEN TESTS

# %% [markdown]
# ## Repair one: a tanh
#
# Three broken Functions came in. Here is the first, with its picture.

# %%
class BrokenTanh(Function):
    """y = tanh(x); its derivative, written with the output, is 1 - y²."""

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return 1 - y * y

side_by_side(BrokenTanh.apply, x, "BrokenTanh")

# %% [markdown]
# ### Exercise `fix_tanh`: repair a tanh ★☆☆
#
# Name the bug from the picture ($N$ is diagonal, $A$ has the same full row four times), then repair it. The forward
# is fine and stays.
#
# Right means: the gradient of $\tanh$ for every shape and dtype, finite for $|x|$ up to 1000, and everything you know from
# lesson 01 about `backward`.

# %% nbgrader={"grade": false, "grade_id": "fix_tanh", "locked": false, "schema_version": 3, "solution": true}
class FixedTanh(Function):
    """y = tanh(x), elementwise."""

    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        # TODO fix_tanh: what BrokenTanh returns, and what it forgets
        ### BEGIN SOLUTION
        (y,) = ctx.saved_tensors
        return g * (1 - y * y)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_fix_tanh", "locked": true, "points": 2, "schema_version": 3, "solution": false}
check("fix_tanh", FixedTanh)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("fix_tanh", FixedTanh)
### END HIDDEN TESTS

# %% [markdown]
# ## Repair two: a product that leaves the work to the engine
#
# Broadcasting copies a small tensor until it fits. Each copy takes part in the output and gets a gradient; the
# gradient of the original is the *sum* over its copies. For a sum $y = x + b$ with $b$ broadcast:

# %%
class BroadcastAdd(Function):
    """y = x + b, either of them broadcast. Each gradient is summed back to the shape of its input."""

    @staticmethod
    def forward(ctx, x, b):
        ctx.shapes = x.shape, b.shape
        return x + b

    @staticmethod
    def backward(ctx, g):
        x_shape, b_shape = ctx.shapes
        return g.sum_to_size(x_shape), g.sum_to_size(b_shape)

x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
b = torch.randn(3, 1, dtype=torch.float64, requires_grad=True)
print(gradcheck(BroadcastAdd.apply, (x, b)))

# %% [markdown]
# `g.sum_to_size(shape)` undoes a broadcast: it sums over the leading dimensions that were added and over the dimensions
# of size 1 that were stretched (these it keeps). A shape that was not broadcast comes back as it is.
#
# The second patient multiplies, and does none of this:

# %%
class BrokenMul(Function):
    """y = a * b with broadcasting."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a

y = BrokenMul.apply(x, b)
grads = BrokenMul.apply(x, b).grad_fn.apply(torch.ones_like(y))
y.sum().backward()
print("gradcheck:          ", gradcheck(BrokenMul.apply, (x, b)))
print("shape of b:         ", tuple(b.shape))
print("shape of b.grad:    ", tuple(b.grad.shape))
print("what backward gave: ", tuple(grads[1].shape))

# %% [markdown]
# `grad_fn.apply(g)` calls the node itself, without the engine around it, and so shows what `backward` really returned: a
# gradient eight times too large for $b$. On its way to `b.grad` the engine notices that the shape can be summed down to
# the right one, and does so without a word.
#
# So is anything broken? For `.grad`, no. But the contract says *a gradient of the input's shape*. Everyone who
# calls this backward without the engine (a test like the one above, another Function that reuses the rule, a port to C++)
# gets the wrong shape. And code that lives on a silent repair hides the day when the repair is the wrong one.

# %% [markdown]
# ### Exercise `fix_mul`: repair a product of broadcast factors ★★☆
#
# Right means: right gradients for factors of any two shapes that can be broadcast, 0-d and empty ones too, **and backward
# itself returns each gradient in the shape of its input**.

# %% nbgrader={"grade": false, "grade_id": "fix_mul", "locked": false, "schema_version": 3, "solution": true}
class FixedMul(Function):
    """y = a * b with broadcasting; backward returns gradients of the shapes of a and b."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        # TODO fix_mul: the product rule, then sum over the copies
        ### BEGIN SOLUTION
        a, b = ctx.saved_tensors
        return (g * b).sum_to_size(a.shape), (g * a).sum_to_size(b.shape)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_fix_mul", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("fix_mul", FixedMul)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("fix_mul", FixedMul)
### END HIDDEN TESTS

# %% [markdown]
# ## Repair three: right once, wrong twice
#
# A backward made of differentiable operations can be differentiated again: `create_graph=True` records it like any other
# code. Gradient penalties and some optimizers need that. `gradgradcheck` does for the second derivative what gradcheck
# does for the first. Here is $y = 1/x$, written twice; $y' = -1/x^2$, $y'' = 2/x^3$.

# %%
class ReciprocalA(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / x
        ctx.save_for_backward(-y * y)   # the slope, computed once, here
        return y

    @staticmethod
    def backward(ctx, g):
        (slope,) = ctx.saved_tensors
        return g * slope

class ReciprocalB(Function):
    @staticmethod
    def forward(ctx, x):
        y = 1 / x
        ctx.save_for_backward(y)        # the output
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -g * y * y

# %% [markdown]
# **Predict, then run.** The same numbers, computed in different places. The loss is $y^2 = 1/x^2$, so the first
# derivative is $-2/x^3$ and the second $6/x^4$: what will each of the two give at $x = 2$ and $x = -\tfrac12$?

# %%
for name, fn in {"ReciprocalA": ReciprocalA.apply, "ReciprocalB": ReciprocalB.apply}.items():
    x = torch.tensor([2.0, -0.5], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad((fn(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    print(f"{name}: gradcheck {gradcheck(fn, (x,), raise_exception=False)}, "
          f"gradgradcheck {gradgradcheck(fn, (x,), raise_exception=False)}")
    print("  first", first.tolist(), "second", second.tolist())
print("should be", (-2 / x**3).tolist(), "and", (6 / x**4).tolist())

# %% [markdown]
# The second derivative of `ReciprocalA` is a third of the right one, and nobody complained.
#
# Inside `forward` nothing is recorded: autograd treats the Function as one step from its inputs to its outputs. A tensor
# computed in there has no history. Saved and read again in `backward` it is a *constant*; that the slope depends on $x$ is
# forgotten. **Inputs and outputs** are different: `ctx.saved_tensors` gives them back tied to the graph, so whatever
# `backward` computes from them can be differentiated once more.
#
# So there are two honest ways. Save inputs or outputs only, and compute the rest in `backward`. Or save what you like and
# mark `backward` with `@once_differentiable` (from `torch.autograd.function`): then calling
# `.backward()` on something made from the gradient raises an error instead of filling in a wrong number. (It is no
# perfect guard: a sum with other terms, asked for by `torch.autograd.grad`, can still lose its part silently.)
#
# The last patient computes the length of each row, $y = \lVert x \rVert = \sqrt{\sum_k x_k^2}$ over the last dimension. Its
# gradient is the unit vector along $x$:
#
# $$\frac{\partial y}{\partial x_k} = \frac{x_k}{y}$$

# %%
class BrokenNorm(Function):
    """y = the Euclidean length of x along its last dimension."""

    @staticmethod
    def forward(ctx, x):
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x / y.unsqueeze(-1))
        return y

    @staticmethod
    def backward(ctx, g):
        (unit,) = ctx.saved_tensors
        return g.unsqueeze(-1) * unit

x = torch.tensor([[3.0, 4.0], [1.0, -2.0]], dtype=torch.float64, requires_grad=True)
print("gradcheck:    ", gradcheck(BrokenNorm.apply, (x,)))
print("gradgradcheck:", gradgradcheck(BrokenNorm.apply, (x,), raise_exception=False))

# %% [markdown]
# ### Exercise `fix_norm`: repair a norm ★★☆
#
# Right means:
# - the right value and gradient for $x$ of any shape with at least one dimension (no row is all zeros: there is a kink);
# - a right *second* derivative. `@once_differentiable` is not accepted here.

# %% nbgrader={"grade": false, "grade_id": "fix_norm", "locked": false, "schema_version": 3, "solution": true}
class FixedNorm(Function):
    """y = the Euclidean length of x along its last dimension; twice differentiable."""

    @staticmethod
    def forward(ctx, x):
        # TODO fix_norm: the value as in BrokenNorm; save only what is tied to the graph
        ### BEGIN SOLUTION
        y = (x * x).sum(-1).sqrt()
        ctx.save_for_backward(x, y)
        return y
        ### END SOLUTION

    @staticmethod
    def backward(ctx, g):
        # TODO fix_norm: g times the unit vector along x
        ### BEGIN SOLUTION
        x, y = ctx.saved_tensors
        return (g / y).unsqueeze(-1) * x
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_fix_norm", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("fix_norm", FixedNorm)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("fix_norm", FixedNorm)
### END HIDDEN TESTS

# %% [markdown]
# ## Recap
#
# - A falling loss proves nothing. Central differences do: float64, $\varepsilon = 10^{-6}$, compared with a tolerance.
# - A check finds what its inputs show: all pieces, both signs, no kinks, unequal sizes, broadcasting of both kinds.
# - Use a random upstream gradient, never ones; and test that the backward is linear in it.
# - gradcheck cannot see state, writes to $g$, memory layout, float32 on the way, or the second derivative.
# - Save inputs and outputs, not intermediates, or say `@once_differentiable`.

# %% [markdown] tags=["recall"]
# ## Do you still know?
#
# Answer before you unfold.
#
# <details><summary>1. From lesson 01: <code>backward</code> of a Function with inputs (tensor, float) returns one value. What happens?</summary>
#
# An error when backward runs: there must be one value for each input of forward, `None` for the float.
#
# </details>
#
# <details><summary>2. From lesson 02: why must <code>backward</code> not write <code>grad_output[x < 0] = 0</code>?</summary>
#
# `grad_output` belongs to the engine, and other branches of the graph read it too. Their gradients would change.
#
# </details>
#
# <details><summary>3. From lesson 03: gradcheck says <code>False</code> for a straight-through rounding. Good or bad?</summary>
#
# Good: the declared gradient is not the slope of the forward. What is tested is that the VJP equals the declared one.
#
# </details>

# %%
progress()

# %% [markdown]
# That was the last lesson. Is something still open? The list above names it, and an exercise is never too late.
#
# ## Further reading
#
# - [Gradcheck mechanics](https://docs.pytorch.org/docs/stable/notes/gradcheck.html): how PyTorch's own check works, its fast
#   mode and complex numbers
# - [torch.autograd.gradcheck](https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html) and
#   [gradgradcheck](https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradgradcheck.html): all options
# - [Double backward with custom functions](https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html):
#   what may be saved when second derivatives are wanted
