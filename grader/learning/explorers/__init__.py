"""Pictures to play with: each explorer is a function of a few controls that draws one figure.

`from grader.learning.explorers import explore_vjp` costs next to nothing: what an explorer needs is imported when it
is first called, and ipywidgets only where there is a notebook to show them in.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["explore_differences", "explore_gradcheck", "explore_graph", "explore_kink", "explore_ste", "explore_vjp"]

if TYPE_CHECKING:
    from grader.learning.explorers.differences import explore_differences
    from grader.learning.explorers.gradcheck import explore_gradcheck
    from grader.learning.explorers.graph import explore_graph
    from grader.learning.explorers.kink import explore_kink
    from grader.learning.explorers.ste import explore_ste
    from grader.learning.explorers.vjp import explore_vjp


def __getattr__(name: str) -> Any:
    """Import an explorer's module on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{name.removeprefix('explore_')}")
    return getattr(module, name)
