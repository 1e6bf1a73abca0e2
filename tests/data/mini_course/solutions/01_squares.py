# ---
# jupyter:
#   course:
#     goals:
#     - write a class with two methods
#     - 'answer a quiz: a function that returns a letter'
#     minutes: 10
#     prerequisites:
#     - 00_warm_up
#     title: Squares, and who calls whom
# ---

# %% [markdown]
# # 01 · Squares
#
# Two regions in one cell, and a quiz.

# %%
import torch
from torch.autograd import Function

from grader import check

# %%
x = torch.tensor([1.0, -2.0])
x * x


# %% tags=["picture"]
def table(values):
    """A cell that starts with a definition, two empty lines above it."""
    return "\n".join(f"{value:6.2f} {value * value:6.2f}" for value in values)


print(table(x))

# %% [markdown]
# ### Exercise `square` ★★☆

# %% nbgrader={"grade": false, "grade_id": "square", "locked": false, "schema_version": 3, "solution": true}
class Square(Function):
    """y = x², elementwise; the gradient is 2x times the upstream one."""

    @staticmethod
    def forward(ctx, x):
        # TODO square: the value
        ### BEGIN SOLUTION
        ctx.save_for_backward(x)
        return x * x
        ### END SOLUTION

    @staticmethod
    def backward(ctx, grad_output):
        # TODO square: the gradient
        ### BEGIN SOLUTION
        (saved_for_square,) = ctx.saved_tensors
        return 2 * saved_for_square * grad_output
        ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_square", "locked": true, "points": 3, "schema_version": 3, "solution": false}
check("square", Square)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("square", Square)
### END HIDDEN TESTS

# %% [markdown]
# ### Exercise `who_squares` ★☆☆
#
# Who calls `forward`: (a) you, (b) `apply`?

# %% nbgrader={"grade": false, "grade_id": "who_squares", "locked": false, "schema_version": 3, "solution": true}
def who_squares() -> str:
    """The letter of your answer."""
    ### BEGIN SOLUTION
    return "b"
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_who_squares", "locked": true, "points": 1, "schema_version": 3, "solution": false}
check("who_squares", who_squares)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("who_squares", who_squares)
### END HIDDEN TESTS

# %% [markdown]
# ## Recap
#
# - Squares have slopes.
#
# ## Further reading
#
# - <https://docs.pytorch.org/docs/stable/autograd.html>
