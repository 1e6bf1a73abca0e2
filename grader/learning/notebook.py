"""Whether this process is a notebook's kernel, and whether there is a person before it."""

from __future__ import annotations

import os
import sys

__all__ = ["in_a_kernel", "in_a_notebook"]


def in_a_notebook() -> bool:
    """True in a kernel that shows its outputs to somebody; False in a grading run, a terminal or a script."""
    return in_a_kernel() and not ("NBGRADER_EXECUTION" in os.environ or "GRADER_CLASS_SECRET" in os.environ)


def in_a_kernel() -> bool:
    """True where what is displayed goes to a notebook, be it seen or only kept; False in a terminal or a script."""
    if "IPython" not in sys.modules or "ipykernel" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")
