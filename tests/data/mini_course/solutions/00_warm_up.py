# ---
# jupyter:
#   course:
#     goals:
#     - call a function and read its score
#     minutes: 5
#     prerequisites: []
#     title: Warming up
# ---

# %% [markdown]
# # 00 · Warming up
#
# A miniature lesson, to test the tools with. It uses the signs ×, ′ and ★, and maths: $y = 3x$.
#
# ![a straight line through the origin, three up for each one to the right](pictures/line.svg)

# %%
from grader import check

# %% [markdown] tags=["predict"]
# ### Exercise `triple` ★☆☆
#
# Predict what `triple(2)` returns, then write it.

# %% nbgrader={"grade": false, "grade_id": "triple", "locked": false, "schema_version": 3, "solution": true}
def triple(x):
    """Three times x; x a number or a tensor of any shape."""
    # TODO triple: one multiplication
    ### BEGIN SOLUTION
    secret_factor_of_triple = 3
    return secret_factor_of_triple * x
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "test_triple", "locked": true, "points": 1, "schema_version": 3, "solution": false}
check("triple", triple)
### BEGIN HIDDEN TESTS
from grader.hidden import grade
grade("triple", triple)
### END HIDDEN TESTS

# %% [markdown]
# ## Recap
#
# - `triple` is written.
#
# ## Further reading
#
# - [Extending PyTorch](https://docs.pytorch.org/docs/stable/notes/extending.html)
