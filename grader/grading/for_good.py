"""Loading libraries that stay to the end of the process."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["loaded_for_good"]


@contextlib.contextmanager
def loaded_for_good() -> Iterator[None]:
    """What is loaded in the block stays: Python neither searches it for garbage, nor takes it apart when it ends.

    The search during the imports alone would cost a sixth of their time, and find nothing.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
