"""The exercises behind the corpus: reference, inputs and contract of operations the course does not ask for.

The references state forward and vector-Jacobian product as formulas; `tests/reference` proves them against
PyTorch.
"""
