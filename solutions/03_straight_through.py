# ---
# jupyter:
#   course:
#     goals:
#     - say why a step function stops learning, and what a surrogate declares
#     - write straight-through estimators for thresholds, signs and rounding
#     - test a Function whose gradient is not its derivative
#     - use them to quantize, to reverse gradients and to train a binary net
#     minutes: 60
#     prerequisites:
#     - 02_relu
#     title: Gradients on purpose
# ---

# %% [markdown]
# # 03 · Gradients on purpose
#
# So far a backward was right if it was the derivative of its forward. This lesson breaks that rule, on purpose: there are
# Functions whose derivative is known, correct and useless, and for which we *declare* another gradient. Low-precision
# models are trained this way, and models with yes/no decisions inside.
#
# After this lesson you can write such a Function, say exactly what it promises, and test the promise.
#
# **Time** about an hour. **Before this:** lessons 01 and 02.

# %%
import torch
import torch.nn.functional as F
from torch.autograd import Function

from grader import check, explain, hint, progress, restore, solution
from grader.learning.plots import COLORS, TEXT, figure
from grader.learning.track import track

torch.set_num_threads(1)  # tiny tensors: more threads would only wait for each other

# %%
progress("03_straight_through")  # where you stand in this lesson; it follows your checks

# %% [markdown]
# ## A net that cannot learn
#
# Points on two noisy rings; class 0 is the inner one, class 1 the outer one. `start` draws a training set, a test set and
# the weights of a small net, all from one seed and from a generator of its own.

# %%
def two_rings(count, generator):
    """count points of shape (count, 2), half on each ring, and their labels 0. or 1."""
    labels = (torch.arange(count) % 2).float()
    radius = 0.5 + labels + 0.12 * torch.randn(count, generator=generator)
    angle = 2 * torch.pi * torch.rand(count, generator=generator)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), labels

def start(seed):
    """(points, labels) to train on, the same to test on, and the net's four weight tensors."""
    generator = torch.Generator().manual_seed(seed)
    train, test = two_rings(400, generator), two_rings(400, generator)
    W, v = torch.randn(8, 2, generator=generator), torch.randn(8, generator=generator)
    weights = [t.requires_grad_() for t in (W, torch.zeros(8), v, torch.zeros(()))]
    return train, test, weights

# %% [markdown]
# The net has eight hidden units, each a line $w \cdot x + b$ through the plane followed by an activation, and one output:
# a logit that says class 1 where it is above 0.

# %%
def logits(x, weights, activation):
    W, b, v, c = weights
    return activation(x @ W.T + b) @ v + c

# %% [markdown]
# We train it twice, with `torch.tanh` as the activation and with `torch.sign`, which is +1 or −1: a hidden unit then only
# says on which side of its line a point lies. Eight lines around the inner ring would be plenty.
#
# **Predict, then run.** What accuracy will the net of signs reach after 300 steps? (Guessing gives 0.5.)

# %%
curves = {}
for name, activation in (("tanh", torch.tanh), ("sign", torch.sign)):
    (x, y), (x_test, y_test), weights = start(seed=0)
    optimizer = torch.optim.Adam(weights, lr=0.05)
    curves[name] = []
    for step in track(range(301), f"training with {name}"):
        if step % 20 == 0:
            hits = (logits(x_test, weights, activation) > 0) == (y_test > 0.5)
            curves[name].append(hits.float().mean().item())
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(logits(x, weights, activation), y)
        loss.backward()
        optimizer.step()
    print(f"{name} accuracy after 300 steps: {curves[name][-1]:.2f}")

# %% [markdown]
# The picture shows, on the left, the test points with the eight lines of the net of signs after training, and on the
# right the accuracies over the steps: `tanh` climbs to 1, the signs stay at one half.

# %%
fig, (left, right) = figure(columns=2, width=9, height=3.2, alt=(
    "Left: a ring of points around another, and eight straight lines, all through the middle. "
    "Right: test accuracy over 300 steps; tanh climbs to 1, the net of signs stays at one half."))
for label, color in ((0, COLORS[0]), (1, COLORS[1])):
    left.scatter(*x_test[y_test == label].T, s=6, color=color, label=f"class {label}")
W, b = (t.detach() for t in weights[:2])
for (wx, wy), foot in zip(W, -b[:, None] * W / (W**2).sum(dim=1, keepdim=True), strict=True):
    left.axline(foot.tolist(), slope=-wx / wy, color=TEXT, linewidth=0.8)
left.set(title="Eight lines that never moved", xlim=(-2.6, 2.6), ylim=(-2, 2), aspect="equal")
left.legend(loc="upper left", bbox_to_anchor=(1, 1), markerscale=2)
for (name, curve), color in zip(curves.items(), COLORS[2:], strict=False):
    right.plot(range(0, 301, 20), curve, color=color, linewidth=2, label=name)
right.set(title="Test accuracy", xlabel="step", ylim=(0.3, 1.05))
right.legend(loc="center right")
fig.show()

# %% [markdown]
# All eight lines still go through the origin, where they were at the start, and lines through the middle of the rings
# cannot tell near from far. Why did they not move? One backward shows it.

# %%
(x, y), _, weights = start(seed=0)
F.binary_cross_entropy_with_logits(logits(x, weights, torch.sign), y).backward()
for name, w in zip(("W, hidden", "b, hidden", "v, output", "c, output"), weights, strict=True):
    print(f"{name}  largest gradient: {w.grad.abs().max().item():.4f}")

# %% [markdown]
# ## Right, and useless
#
# The hidden weights get 0.0000: not small, zero. On each of its two pieces the sign is flat, so its slope is 0 there, and
# at the jump it has none. The chain rule multiplies what comes from above by that slope:
#
# $$\frac{\partial L}{\partial h_i} = g_i \cdot \mathrm{sign}'(h_i) = g_i \cdot 0 = 0,$$
#
# and everything before the sign inherits the zero. No learning rate helps, and no optimizer.
#
# That is no bug of PyTorch. The gradient answers the question "what does an *infinitesimal* step do to the loss?", and the
# honest answer is: nothing. The question we care about is what a *step of the size we take* would do, and over such a
# distance the staircase does rise.
#
# **Predict, then run.** For $y = \lfloor 2x \rfloor / 2$, a staircase with steps of one half, what is the slope between
# two points that are 0.001, 0.7 and 10.3 apart?

# %%
def stairs(x):
    return torch.floor(2 * x) / 2

x = torch.tensor(0.3, dtype=torch.float64)
for distance in (0.001, 0.7, 10.3):
    rise = stairs(x + distance) - stairs(x)
    print(f"slope over a distance of {distance:5}: {rise.item() / distance:.3f}")

# %% [markdown]
# Close by it is flat, over about one step it is anything, and from afar it is a line of slope 1. So we keep the staircase
# for the value and take the slope from the line. The picture shows both on the left, and on the right the two slopes: the
# true one, 0 wherever it exists, and the declared one, 1.

# %%
fig, (left, right) = figure(columns=2, width=9, height=2.9, alt=(
    "Left: stairs that rise along a straight line. Right: the true slope is 0 with a gap at every "
    "step, the declared slope is 1 everywhere."))
for k in range(-3, 4):
    name = "forward: the stairs" if k == 0 else None
    left.plot([k / 2, k / 2 + 0.5], [k / 2, k / 2], color=COLORS[0], linewidth=3, label=name)
left.plot([-1.5, 2], [-1.5, 2], "--", color=COLORS[1], linewidth=2, label="surrogate: the line")
left.set(title="Value", xlabel="x")
left.legend(loc="upper left", fontsize=9)
right.plot([-1.5, 2], [0, 0], color=COLORS[0], linewidth=3, label="true slope")
for k in range(-3, 4):
    right.plot(k / 2, 0, "o", markersize=6, markerfacecolor="none", color=COLORS[0])
right.plot([-1.5, 2], [1, 1], "--", color=COLORS[1], linewidth=2, label="declared slope")
right.set(title="Slope", xlabel="x", ylim=(-0.3, 1.6), yticks=[0, 1])
right.legend(loc="upper right", ncols=2, fontsize=9)
fig.show()

# %% [markdown]
# ## Declaring a gradient
#
# A Function with a **surrogate** is a pair of functions: $s$ gives the value, and $\tilde s$, the surrogate, gives
# the slope:
#
# $$\text{forward: } y_i = s(x_i), \qquad \text{backward: } \bar x_i = g_i \cdot \tilde s'(x_i).$$
#
# With $\tilde s(x) = x$ the gradient goes straight through, hence the name **straight-through estimator**, STE for
# short. It is not a trick of the engine: backward is your code, and autograd believes whatever it returns. What you owe in
# exchange is to say which surrogate you declared. Here is the whole of it for our stairs.

# %%
class StairsSTE(Function):
    """Value: floor(2x) / 2, elementwise. Declared gradient: that of y = x."""

    @staticmethod
    def forward(ctx, x):
        return torch.floor(2 * x) / 2  # as flat as it likes

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output  # the slope of the line is 1: g times 1

# %% [markdown]
# Nothing is saved: the slope of the surrogate is the same everywhere.

# %%
x = torch.tensor([0.3, 0.9, -1.2], requires_grad=True)
y = StairsSTE.apply(x)
(y * torch.tensor([10.0, 20.0, 30.0])).sum().backward()
print("value   ", y.tolist())
print("gradient", x.grad.tolist())

# %% [markdown]
# ### A trap: whose dtype?
#
# A threshold is even simpler than stairs: compare, and turn the answer into a number. The line below stands in many
# code bases.
#
# **Predict, then run.** What dtype does `y` have?

# %%
x = torch.tensor([0.2, 1.7], dtype=torch.float64)
y = (x > 1.0).float()
print(y, y.dtype)

try:
    torch.eye(2, dtype=torch.float64) @ y
except RuntimeError as error:
    print("the next layer:", error)

# %% [markdown]
# `.float()` does not mean "a floating-point number", it means `torch.float32`. In a float64 model the next matrix product
# fails; where the next operation mixes dtypes it does not even fail, and in a bfloat16 model the activations silently
# double their memory. `torch.where(x > 1, 1.0, 0.0)` is the same trap: two Python numbers make float32. Say what you mean
# with `.to(x.dtype)`, or build from `x`: `torch.ones_like(x)`. And leaving the comparison as it is does not work either: a
# bool tensor cannot carry a gradient.
#
# ### Exercise `binarize` ★☆☆
#
# Write `Binarize`, a threshold at zero.
#
# Right means:
# - the value is 1 where $x > 0$ and 0 elsewhere, at $x = 0$ too, in the dtype of `x`, whatever that is;
# - the declared surrogate is $y = x$, for every $x$;
# - second derivatives are not asked for, in this lesson nowhere: those of a surrogate mean nothing.
#
# `hint("binarize")` helps if you are stuck.

# %% nbgrader={"grade": false, "grade_id": "binarize", "locked": false, "schema_version": 3, "solution": true}
class Binarize(Function):
    """Value: 1 where x > 0, else 0, in x's dtype; x of any shape. Declared gradient: that of y = x."""

    @staticmethod
    def forward(ctx, x):
        # TODO binarize: the value
        ### BEGIN SOLUTION
        return (x > 0).to(x.dtype)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO binarize: the declared gradient
        ### BEGIN SOLUTION
        return grad_output
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_binarize", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("binarize", Binarize)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("binarize", Binarize)
### END HIDDEN TESTS

# %% [markdown]
# ## How do you test a gradient that is wrong on purpose?
#
# The usual test of a backward is `torch.autograd.gradcheck`: it changes each input by a tiny `eps` up and down, measures
# how the output of *forward* changes, and compares that with what *backward* says. It is behind the checks of the last two
# lessons; lesson 04 takes it apart.
#
# **Predict, then run.** `StairsSTE` does what we want. What does gradcheck say?

# %%
x = torch.tensor([0.3, 0.9, -1.2], dtype=torch.float64, requires_grad=True)
try:
    torch.autograd.gradcheck(StairsSTE.apply, (x,), eps=1e-6, atol=1e-5)
except RuntimeError as error:
    print(error)

# %% [markdown]
# Read the two matrices. *Numerical* is all zeros: within a distance of $10^{-6}$ the stairs are flat. *Analytical*, from
# our backward, is the identity. They differ, and that is the whole point: **on a straight-through estimator gradcheck must
# fail**. If it ever passes, backward returns the true derivative, and nothing below it learns. Here the green light is
# the bug.
#
# So what is left to test? The promise. A surrogate is an ordinary differentiable function, so let autograd
# differentiate *it*, and compare with your backward under the same random upstream gradient.

# %%
def keeps_promise(apply, surrogate, x):
    """Whether apply's gradient at x is that of the surrogate, for a random upstream gradient."""
    g = torch.randn(x.shape, dtype=x.dtype)
    x = x.detach().requires_grad_()
    (mine,) = torch.autograd.grad(apply(x), x, g)
    (declared,) = torch.autograd.grad(surrogate(x), x, g)
    return torch.allclose(mine, declared)

x = torch.randn(4, 5, dtype=torch.float64)
print(keeps_promise(StairsSTE.apply, lambda x: 1.0 * x, x))

# %% [markdown]
# The checks of this lesson do just that, besides everything they asked in the lessons before: value, dtype, memory
# layouts, an untouched `grad_output`. And they ask that gradcheck says no.
#
# ## When straight through is too straight
#
# Straight through is the simplest surrogate. Is it good enough for our net? The value of a sign, the gradient of the
# identity:

# %%
class StraightSign(Function):
    """Value: sign(h). Declared gradient: that of y = h."""

    @staticmethod
    def forward(ctx, h):
        return torch.sign(h)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

# %% [markdown]
# **Predict, then run.** The hidden weights get a gradient now. What will the accuracy be after 300 steps?

# %%
(x, y), (x_test, y_test), weights = start(seed=0)
before = weights[0].detach().clone()
optimizer = torch.optim.Adam(weights, lr=0.05)
for _ in track(range(300), "training"):
    optimizer.zero_grad()
    F.binary_cross_entropy_with_logits(logits(x, weights, StraightSign.apply), y).backward()
    optimizer.step()
hits = (logits(x_test, weights, StraightSign.apply) > 0) == (y_test > 0.5)
print(f"accuracy {hits.float().mean().item():.2f}")
print(f"the hidden weights moved by {(weights[0] - before).abs().mean().item():.2f} on average")

# %% [markdown]
# They moved, and got nowhere. The reason is in the promise: backward behaves as if the hidden layer were $y = h$. The
# gradient we follow is that of a net *without* an activation, a linear one, and for linear nets rings are hopeless. Every
# point pulls at every line with full force, however far away it lies.
#
# For a sign only the points *near* the line matter: they are the ones that a step can bring to the other side. So let the
# gradient through only where $h$ is near the jump, say for $|h| \le 1$. Further out the unit is **saturated** and left
# alone. The surrogate with this window is the line that turns flat at $\pm 1$, known as hardtanh:
#
# $$\tilde s(h) = \max(-1, \min(1, h)), \qquad \tilde s'(h) = \begin{cases} 1 & |h| < 1 \\ 0 & |h| > 1. \end{cases}$$
#
# The picture shows, on the left, the sign and the surrogate; in the middle their slopes, 1 only in the shaded window; on
# the right the test accuracy of our net of signs while it trains with this surrogate.
#
# **Predict, then move** the window, from *none*, where only the output layer learns, to *no limit*, which is `StraightSign`
# again: which widths will train the net, 0.1, 1, 4? One of the three will surprise you.

# %%
from grader.learning.explorers import explore_ste

explore_ste()

# %% [markdown]
# Even 0.1 is enough here: among 400 points some are always near each line. Too wide is what fails.
#
# At $|h| = 1$ hardtanh has a kink, and by lesson 02 both 0 and 1 are legal there. The window has its price, too: a unit that is
# saturated for *every* input gets no gradient and stays as it is, like a ReLU that is never active. Which surrogate works
# best is a matter of trying. That there is one, and which, must stand in the code.
#
# ### Exercise `sign_clipped` ★★☆
#
# Write `SignSTE`, the activation for our net of signs.
#
# Right means:
# - the value is +1 where $x \ge 0$, so **also at 0**, and −1 elsewhere, in the dtype of `x`. (Look up what `torch.sign`
#   gives at 0.)
# - the declared surrogate is hardtanh: $g_i$ where $|x_i| < 1$, 0 where $|x_i| > 1$, either of them at $|x_i| = 1$;
# - what passes, passes as it is, however large $g_i$ may be.

# %% nbgrader={"grade": false, "grade_id": "sign_clipped", "locked": false, "schema_version": 3, "solution": true}
class SignSTE(Function):
    """Value: 1 where x >= 0, else -1, in x's dtype; x of any shape. Declared gradient: that of hardtanh."""

    @staticmethod
    def forward(ctx, x):
        # TODO sign_clipped: save what backward needs, return the value
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO sign_clipped: the declared gradient
        ### BEGIN SOLUTION
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1)
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_sign_clipped", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("sign_clipped", SignSTE)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("sign_clipped", SignSTE)
### END HIDDEN TESTS

# %% [markdown]
# ### Seen in the wild
#
# A widely copied recipe for an STE has this backward: `return F.hardtanh(grad_output)`. It looks like the surrogate above.
# Is it?
#
# **Predict, then run.** For which of these three elements does it agree with the surrogate?

# %%
x = torch.tensor([0.2, 0.2, 3.0], dtype=torch.float64, requires_grad=True)
g = torch.tensor([0.5, 7.0, 0.5], dtype=torch.float64)
(declared,) = torch.autograd.grad(F.hardtanh(x), x, g)
print("x                   ", x.tolist())
print("upstream g          ", g.tolist())
print("the recipe gives    ", F.hardtanh(g).tolist())
print("the surrogate gives ", declared.tolist())

# %% [markdown]
# Only for the first. It clips the *gradient*, not where $x$ lies: large gradients are cut (so backward is no longer linear
# in $g$), and saturated elements keep moving. Tests with all-ones upstream and small $x$ pass, and so it spread.
#
# ## Rounding
#
# Rounding is a staircase as well, and the line through the middle of its steps is $y = x$. One detail of the value:
# exactly between two integers `torch.round` goes to the *even* one, so that rounding many numbers has no drift.

# %%
print(torch.round(torch.tensor([0.5, 1.5, 2.5, -0.5, 0.6])).tolist())

# %% [markdown]
# ### Exercise `round_ste` ★☆☆
#
# Write the whole class `RoundSTE` (the two methods are there, empty).
#
# Right means: the value is that of `torch.round`, halves included, in the dtype of `x`; the declared surrogate is $y = x$.

# %% nbgrader={"grade": false, "grade_id": "round_ste", "locked": false, "schema_version": 3, "solution": true}
class RoundSTE(Function):
    """Value: x rounded to integers, halves to even; x of any shape. Declared gradient: that of y = x."""

    @staticmethod
    def forward(ctx, x):
        # TODO round_ste: the value
        ### BEGIN SOLUTION
        return torch.round(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO round_ste: the declared gradient
        ### BEGIN SOLUTION
        return grad_output
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_round_ste", "locked": true, "points": 2, "schema_version": 3, "solution": false}
check("round_ste", RoundSTE)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("round_ste", RoundSTE)
### END HIDDEN TESTS

# %% [markdown]
# ## Training for a smaller number format
#
# To run a model with 4-bit weights, each weight $x$ is stored as an integer **code** $q$ between $q_{min} = -8$ and
# $q_{max} = 7$ and read back as $\text{scale} \cdot q$. *Quantization-aware training* puts that loss of precision into
# the model while it still learns, as **fake quantization**: quantize and go straight back, so that the numbers stay floats
# but only take values that the small format has:
#
# $$q = \mathrm{clamp}(\mathrm{round}(x / \text{scale}),\ q_{min},\ q_{max}), \qquad y = \text{scale} \cdot q.$$
#
# Declare the identity for the rounding, and follow the chain rule from left to right. For an element that clamp left
# alone,
#
# $$\frac{\partial y}{\partial x} = \underbrace{\text{scale}}_{\text{times scale}} \cdot \underbrace{1}_{\text{clamp}} \cdot
# \underbrace{1}_{\text{round, declared}} \cdot \underbrace{\frac{1}{\text{scale}}}_{\text{over scale}}.$$
#
# Where clamp moved the code, its slope is 0 and so is the product. Which elements did it move? Not those outside
# $[\text{scale} \cdot q_{min}, \text{scale} \cdot q_{max}]$: the rounding comes first, and a number a little outside may
# still round back onto an end code. PyTorch has the operation built in, forward and backward, so we can ask it.
#
# **Predict, then run.** With scale 0.25 and codes −4 … 3 the largest value is 0.75. Which of these get a gradient?

# %%
x = torch.tensor([0.70, 0.75, 0.80, 0.90, -1.10, -1.30], requires_grad=True)
y = torch.fake_quantize_per_tensor_affine(x, 0.25, 0, -4, 3)
y.sum().backward()
table = torch.stack([x, torch.round(x / 0.25), y, x.grad], dim=1).tolist()
for row in table:
    print("x {:5.2f}   round(x / scale) {:3.0f}   y {:5.2f}   gradient {:.0f}".format(*row))

# %% [markdown]
# The window is decided by the rounded integer, *before* the clamp, and both ends belong to it. The picture shows the
# value as stairs that end at −1 and 0.75, the surrogate as a dashed line, and the window as a shaded band, which reaches
# half a step beyond the end values on both sides.

# %%
fig, ax = figure(width=7, height=3, alt=(
    "Stairs of width 0.25 from -1 to 0.75, along a dashed line of slope 1 that is level outside a "
    "shaded window from -1.125 to 0.875."))
xs = torch.linspace(-1.6, 1.4, 1201)
q = torch.round(xs / 0.25)
ax.axvspan(-4.5 * 0.25, 3.5 * 0.25, color=COLORS[1], alpha=0.15, linewidth=0)
ax.plot(xs, 0.25 * q.clamp(-4, 3), color=COLORS[0], linewidth=2.5, label="value")
surrogate = [-1.6, -1.125, -1.125, 0.875, 0.875, 1.4], [-1, -1, -1.125, 0.875, 0.75, 0.75]
ax.plot(*surrogate, "--", color=COLORS[1], linewidth=1.5, label="surrogate: slope 1 in the window, else 0")
for end in (-1.0, 0.75):
    ax.plot(end, end, "o", color=COLORS[0], markersize=6)
ax.text(-0.125, -1.2, "the gradient passes", color=COLORS[1], ha="center", fontsize=9)
ax.set(xlabel="x", ylabel="y", ylim=(-1.35, 1.25))
ax.legend(loc="upper left")
fig.show()

# %% [markdown]
# ### Why the ends matter so much
#
# One could build this from parts: a rounding STE, then `torch.clamp`, and let autograd do the rest. A library for
# quantization-aware training did so. Then the slope of `clamp` *exactly at* its bounds changed in PyTorch, from 1 (still
# so in 2.13) to 0 in the release after it. Both are legal subgradients, and for ordinary floats hardly any element ever
# lies exactly on a bound. But rounded numbers lie on integers, and so do the bounds.
#
# **Predict, then run.** A 2-bit format has four codes. What share of these weights lies exactly on an end code?

# %%
w = torch.randn(10_000, generator=torch.Generator().manual_seed(0))
for bits, scale in ((2, 0.8), (3, 0.5), (4, 0.3)):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    q = torch.round(w / scale)
    print(f"{bits} bits: {((q == low) | (q == high)).float().mean().item():.0%} on an end code")

bound = torch.tensor([-2.0, 1.0], requires_grad=True)
for name, f in (("torch.clamp", torch.clamp), ("F.hardtanh", F.hardtanh)):
    (slope,) = torch.autograd.grad(f(bound, -2, 1).sum(), bound)
    print(f"{name:12} slope at its bounds in this PyTorch:", slope.tolist())

# %% [markdown]
# All of those would have lost their gradient from one release to the next, with every output the same to the last bit. No
# error: training diverged thousands of steps later. The library's cure was a Function of its own that *states* what
# happens at the bounds. So will yours.
#
# ### Exercise `fake_quantize` ★★★
#
# Write `FakeQuantize.apply(x, scale, qmin, qmax)`, with a float and two integers as plain numbers.
#
# Right means:
# - the value is $\text{scale} \cdot \mathrm{clamp}(\mathrm{round}(x/\text{scale}), q_{min}, q_{max})$, in the dtype of `x`;
# - the gradient is $g_i$ where $q_{min} \le \mathrm{round}(x_i/\text{scale}) \le q_{max}$, **ends included**, else 0;
# - the plain numbers get what plain numbers get in a backward (lesson 01).

# %% nbgrader={"grade": false, "grade_id": "fake_quantize", "locked": false, "schema_version": 3, "solution": true}
class FakeQuantize(Function):
    """Value: scale * clamp(round(x / scale), qmin, qmax). Declared gradient: g in the window, else 0."""

    @staticmethod
    def forward(ctx, x, scale, qmin, qmax):
        # TODO fake_quantize: save what backward needs, return the value
        ### BEGIN SOLUTION
        code = torch.round(x / scale)
        ctx.save_for_backward((code >= qmin) & (code <= qmax))
        return scale * code.clamp(qmin, qmax)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO fake_quantize: one value per input of forward
        ### BEGIN SOLUTION
        (inside,) = ctx.saved_tensors
        return grad_output * inside, None, None, None
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_fake_quantize", "locked": true, "points": 5, "schema_version": 3, "solution": false}
check("fake_quantize", FakeQuantize)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("fake_quantize", FakeQuantize)
### END HIDDEN TESTS

# %% [markdown]
# ## Without a class: what detach can do
#
# `t.detach()` has the value of `t`, but for autograd it is a constant: its derivative is 0. A sum of attached and detached
# terms can therefore have one value and the gradient of something else. To read such a sum, do it twice, once for the
# values, once for the slopes.
#
# **Predict, then run.** What are the value and the gradient of $y = 3x - 2\,\mathrm{detach}(x)$ at $x = 5$?

# %%
x = torch.tensor(5.0, requires_grad=True)
y = 3 * x - 2 * x.detach()
y.backward()
print("value", y.item(), "  gradient", x.grad.item())

# %% [markdown]
# Values: $3 \cdot 5 - 2 \cdot 5 = 5$. Slopes: $3 - 0 = 3$. The identity, but with a gradient three times as large.
#
# With the same means any function can be made straight-through, also one that autograd cannot follow at all: you need a
# sum whose *values* add up to $f(x)$ and whose *slopes* add up to 1.
#
# ### Exercise `ste_detach` ★★☆
#
# Write the plain function `ste_detach(f, x)`. There is no class and no backward this time.
#
# Right means:
# - the value is $f(x)$, up to rounding errors; $f$ is any elementwise function that keeps shape and dtype;
# - the gradient with respect to $x$ is the upstream gradient itself, whatever $f$ is: `torch.round`, a comparison, a
#   detour through NumPy, or a smooth function with a perfectly good derivative of its own.

# %% nbgrader={"grade": false, "grade_id": "ste_detach", "locked": false, "schema_version": 3, "solution": true}
def ste_detach(f, x):
    """f(x), with the gradient of the identity; x a tensor of any shape, f elementwise."""
    # TODO ste_detach: a sum of attached and detached terms
    ### BEGIN SOLUTION
    return x + (f(x) - x).detach()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_ste_detach", "locked": true, "points": 2, "schema_version": 3, "solution": false}
check("ste_detach", ste_detach)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("ste_detach", ste_detach)
### END HIDDEN TESTS

# %% [markdown]
# The trick is short, works in any module, and you will meet it everywhere. A Function says more: it has a name, a place
# for the contract, saves what it chooses, and its value is $f(x)$ exactly, not up to rounding. Take the trick for an
# experiment, the Function for a library.
#
# ## The same freedom, another use
#
# A declared gradient need not imitate anything. Suppose a model should learn features that work for photos and for drawings
# alike. A second head tries to tell the two apart, and the features should make that *impossible*: the head descends
# on its loss, the features must ascend on it. Two optimizers could do that. Or one Function between features and head:
#
# ```text
# features ─► task head ──► loss 1
#    │
#    └─► reverse ─► photo or
#                   drawing? ──► loss 2
#
# forward:  reverse(x) = x
# backward: g becomes −alpha · g
# ```
#
# Head and features then train with one `loss.backward()` and one optimizer, and `alpha` says how strongly the features
# work against the head. This is **gradient reversal**. Nobody would call it an estimator, but formally it is the same
# thing: the value is that of $y = x$, the declared surrogate is $\tilde s(x) = -\alpha x$.
#
# ### Exercise `grad_reverse` ★★☆
#
# Write the whole of `GradReverse.apply(x, alpha)`; `alpha` is a plain float.
#
# Right means:
# - the output has the values of `x`. Returning `x` itself or a view of it (`x.view_as(x)`) is fine; it need not be
#   copied;
# - the gradient for `x` is $-\alpha g$, as a new tensor.

# %% nbgrader={"grade": false, "grade_id": "grad_reverse", "locked": false, "schema_version": 3, "solution": true}
class GradReverse(Function):
    """Value: x. Declared gradient: -alpha times the upstream gradient; x of any shape, alpha a float."""

    @staticmethod
    def forward(ctx, x, alpha):
        # TODO grad_reverse: keep alpha, return x
        ### BEGIN SOLUTION
        ctx.alpha = alpha
        return x.view_as(x)
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO grad_reverse: one value per input of forward
        ### BEGIN SOLUTION
        return -ctx.alpha * grad_output, None
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_grad_reverse", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("grad_reverse", GradReverse)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("grad_reverse", GradReverse)
### END HIDDEN TESTS

# %% [markdown]
# ## Now the net
#
# Back to the rings. You have everything: `start` and `logits` from the beginning of the lesson, its training loop, and an
# activation with a gradient that is worth following.
#
# ### Exercise `train_binary` ★★★
#
# Write `train_binary(steps, seed)`: train the net of signs for that many steps, and return its accuracy on the test points.
#
# Right means:
# - the hidden activations are binary in training and in testing, through a straight-through estimator of yours;
# - the result is a Python float between 0 and 1; without a single step it is near 0.5, after 300 steps 0.9 or more, for any
#   seed;
# - the same `steps` and `seed` give the same result, whatever happened to PyTorch's global random numbers in between, and
#   another seed gives another net.
#
# Other data, another net or another optimizer are welcome, as long as this holds. Only the accuracy is looked at.

# %% nbgrader={"grade": false, "grade_id": "train_binary", "locked": false, "schema_version": 3, "solution": true}
def train_binary(steps, seed):
    """Test accuracy (a float from 0 to 1) of a net with binary activations after `steps` training steps."""
    # TODO train_binary: start, train with a straight-through estimator, measure
    ### BEGIN SOLUTION
    (x, y), (x_test, y_test), weights = start(seed)
    optimizer = torch.optim.Adam(weights, lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(logits(x, weights, SignSTE.apply), y).backward()
        optimizer.step()
    hits = (logits(x_test, weights, SignSTE.apply) > 0) == (y_test > 0.5)
    return hits.float().mean().item()
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_train_binary", "locked": true, "points": 4, "schema_version": 3, "solution": false}
check("train_binary", train_binary)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("train_binary", train_binary)
### END HIDDEN TESTS

# %% [markdown]
# And the reward: the curves from the start of the lesson once more, with yours beside them. (Run this cell again when
# `train_binary` works.) With the solution in place the picture shows your net of signs rising from one half to nearly 1
# within a hundred steps, beside `tanh`, while the built-in sign stays where it was.

# %%
fig, ax = figure(width=7, height=2.8, alt=(
    "Test accuracy over 300 steps: tanh climbs to 1, the built-in sign stays at one half, "
    "and your net of signs is the third curve, once it is written."))
for (name, curve), color in zip(curves.items(), COLORS[2:], strict=False):
    ax.plot(range(0, 301, 20), curve, color=color, linewidth=1.5, label=name)
try:
    milestones = (0, 10, 20, 40, 60, 100, 150, 200, 300)
    mine = [train_binary(steps, 0) for steps in track(milestones, "your nets")]
    ax.plot(milestones, mine, "o-", color=COLORS[0], linewidth=2.5, label="your net of signs")
except NotImplementedError:
    print("train_binary is not written yet")
ax.set(title="Test accuracy", xlabel="step", ylim=(0.3, 1.05))
ax.legend(loc="center right")
fig.show()

# %% [markdown]
# ## Recap
#
# - The true gradient of a step is zero; a surrogate replaces it by the slope of a function that looks alike from afar.
# - An STE is a promise: value of $s$, gradient of $\tilde s$. Test it against $\tilde s$; gradcheck must say no.
# - A window looks at $x$, never at the size of $g$, and its ends are part of the promise: state them yourself.
# - `.float()` and `torch.where` with two numbers make float32; take the dtype from `x`.
# - A sum of attached and detached terms is an STE in one line; gradient reversal is the same freedom with a minus.

# %% [markdown] tags=["recall"]
# ## Do you still know?
#
# Answer before you unfold.
#
# <details><summary>1. From lesson 02: why must a backward not write its zeros into <code>grad_output</code>?</summary>
#
# The tensor is shared: another branch of the graph may hold the same one, and after `.sum()` it is a single number with
# stride 0. Make a new tensor.
#
# </details>
#
# <details><summary>2. From lesson 02: your backward needs to know which elements were positive. What is the cheapest thing
# to save?</summary>
#
# A bool mask, one byte per element; or the input or output itself where that is kept alive anyway.
#
# </details>
#
# <details><summary>3. From lesson 01: why does a plain number like <code>alpha</code> go on <code>ctx</code>, but a tensor
# into <code>save_for_backward</code>?</summary>
#
# A number cannot be edited in place and holds no graph. A tensor on `ctx` escapes autograd's check for later edits and
# can keep memory alive.
#
# </details>

# %%
progress()

# %% [markdown]
# Next: **04_gradcheck**, how to know that a backward is right, and three broken ones to mend.
#
# ## Further reading
#
# - [Estimating or Propagating Gradients Through Stochastic Neurons](https://arxiv.org/abs/1308.3432), Bengio, Léonard and
#   Courville: where the straight-through estimator is described
# - [Binarized Neural Networks](https://arxiv.org/abs/1602.02830), Courbariaux and others: signs with a saturation window
# - [Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
#   Inference](https://arxiv.org/abs/1712.05877), Jacob and others: fake quantization
# - [Domain-Adversarial Training of Neural Networks](https://arxiv.org/abs/1505.07818), Ganin and others: gradient reversal
# - [torch.fake_quantize_per_tensor_affine](https://docs.pytorch.org/docs/stable/generated/torch.fake_quantize_per_tensor_affine.html)
# - [The clamp boundary in a quantization library](https://github.com/pytorch/ao/pull/4806): the story told above
